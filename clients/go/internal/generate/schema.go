package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
)

// schema has what the document uses of JSON Schema.
type schema struct {
	Ref                  string `json:"$ref"`
	Type                 string
	Description          string
	AnyOf                []*schema
	Enum                 []any
	Items                *schema
	Properties           ordered[schema]
	AdditionalProperties json.RawMessage
	Required             []string
	Default              any
	Minimum, Maximum     *float64
}

// notNull returns the members of a union without null.
func (s *schema) notNull() (members []*schema) {
	for _, member := range s.AnyOf {
		if member.Type != "null" {
			members = append(members, member)
		}
	}
	return members
}

func (s *schema) isNullable() bool { return len(s.notNull()) < len(s.AnyOf) }

// values returns the schema of the values of a map, or nil if it is true, false or missing.
func (s *schema) values() *schema {
	var found schema
	if !bytes.HasPrefix(s.AdditionalProperties, []byte("{")) ||
		json.Unmarshal(s.AdditionalProperties, &found) != nil {
		return nil
	}
	return &found
}

// zeroIsAValue says whether 0, "" or false means something else than to leave out the field.
func (s *schema) zeroIsAValue() bool {
	if s.Minimum != nil && *s.Minimum > 0 {
		return false
	}
	switch value := s.Default.(type) {
	case float64:
		return value != 0
	case bool:
		return value
	}
	return s.Default == nil && (s.Type == "integer" || s.Type == "number" || s.Type == "boolean")
}

// ordered is a JSON object in the order of the document.
type ordered[V any] []struct {
	name  string
	value V
}

func (o *ordered[V]) UnmarshalJSON(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if _, err := decoder.Token(); err != nil {
		return err
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return err
		}
		entry := struct {
			name  string
			value V
		}{name: fmt.Sprint(name)}
		if err := decoder.Decode(&entry.value); err != nil {
			return err
		}
		*o = append(*o, entry)
	}
	return nil
}

func (o ordered[V]) get(name string) (found V) {
	for _, entry := range o {
		if entry.name == name {
			return entry.value
		}
	}
	return found
}

var initialisms = map[string]string{
	"id": "ID", "ids": "IDs", "ms": "MS", "us": "US", "isr": "ISR", "acl": "ACL", "api": "API", "acls": "ACLs", "url": "URL", "pcap": "PCAP",
}

// pascal returns the Go name of a name with underscores.
func pascal(name string) string {
	var out strings.Builder
	for _, word := range strings.Split(name, "_") {
		if known, ok := initialisms[word]; ok {
			out.WriteString(known)
			continue
		}
		for i, letter := range word {
			if i == 0 {
				letter = unicode.ToUpper(letter)
			}
			out.WriteRune(letter)
		}
	}
	return out.String()
}

// snake returns a name with underscores; it has no initialisms.
func snake(name string) string {
	var out strings.Builder
	for i, letter := range name {
		if unicode.IsUpper(letter) && i > 0 {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(letter))
	}
	return out.String()
}

func camel(name string) string {
	first, rest, _ := strings.Cut(name, "_")
	return first + pascal(rest)
}

const lineLength = 98

// comment returns a text as lines of a comment; an empty line between paragraphs stays.
func comment(text string) string {
	var out strings.Builder
	for i, paragraph := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			out.WriteString("//\n")
		}
		line := "//"
		for _, word := range strings.Fields(paragraph) {
			if len(line)+len(word) >= lineLength && line != "//" {
				out.WriteString(line + "\n")
				line = "//"
			}
			line += " " + word
		}
		out.WriteString(line + "\n")
	}
	return out.String()
}
