package adapter

import (
	"encoding/json"
	"sort"
	"time"
)

// Settings are those of a producer, a consumer or an admin client. A setting that no method returned
// is ignored, and the event `done` says so.
type Settings map[string]*Setting

// Setting is a value in JSON.
type Setting struct {
	value  json.RawMessage
	isRead bool
}

// Security is a user with a SASL mechanism.
type Security struct{ Mechanism, Username, Password string }

// UnmarshalJSON keeps the value for the method that knows its type.
func (setting *Setting) UnmarshalJSON(value []byte) error {
	setting.value = append(setting.value, value...)
	return nil
}

// Read decodes the setting `name` and reports whether it is there.
func (settings Settings) read(name string, value any) bool {
	setting := settings[name]
	if setting == nil || string(setting.value) == "null" {
		return false
	}
	setting.isRead = true
	return json.Unmarshal(setting.value, value) == nil
}

// Int returns a number, and whether it is there.
func (settings Settings) Int(name string) (value int, isThere bool) {
	isThere = settings.read(name, &value)
	return
}

// Duration returns a setting in ms, and whether it is there.
func (settings Settings) Duration(name string) (time.Duration, bool) {
	value, isThere := settings.Int(name)
	return time.Duration(value) * time.Millisecond, isThere
}

// Bool returns a setting, or what the library does without it.
func (settings Settings) Bool(name string, otherwise bool) bool {
	settings.read(name, &otherwise)
	return otherwise
}

// Text returns a setting, or "".
func (settings Settings) Text(name string) (value string) {
	settings.read(name, &value)
	return
}

// Choice returns what the library has for the value of a setting, and whether it has something. A
// value that it lacks counts as a setting that it lacks.
func Choice[T any](settings Settings, name string, choices map[string]T) (choice T, isThere bool) {
	choice, isThere = choices[settings.Text(name)]
	if setting := settings[name]; setting != nil {
		setting.isRead = isThere
	}
	return
}

// Security returns the user, or nil.
func (settings Settings) Security() *Security {
	security := &Security{}
	if !settings.read("security", security) {
		return nil
	}
	return security
}

func (settings Settings) ignored() []string {
	names := []string{}
	for name, setting := range settings {
		if setting != nil && !setting.isRead {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}
