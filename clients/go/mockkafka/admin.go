package mockkafka

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// Admin is a client of the admin port. Its methods are the operations of the port; goroutines may share it.
//
// A response that refuses an operation is an [*Error].
type Admin struct {
	URL   string // http://HOST:PORT
	Token string // sent if it is not empty; see broker.admin.token
}

// Error is a response of the admin port that refuses an operation.
//
// Status is the HTTP status: 400 for invalid values, 404 for unknown names, 409 if the state of the
// cluster does not allow it. Problem says why, and what to do.
type Error struct {
	Status  int
	Problem ProblemDocument
}

// Error returns the reason and the remedy.
func (e *Error) Error() string { return "mock-kafka: " + e.Problem.Detail }

// Do sends a request, and decodes the response into `result` unless it is nil.
//
// A query and a body are encoded as JSON is: `omitempty` leaves out what is not set. A nil query or
// body is none. A *[]byte gets the response as it is, and an *io.ReadCloser gets it while it arrives.
func (a *Admin) Do(ctx context.Context, method, path string, query, body, result any) error {
	target := a.URL + path
	if parameters, err := values(query); err != nil {
		return err
	} else if len(parameters) > 0 {
		target += "?" + parameters.Encode()
	}
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, target, content)
	if err != nil {
		return err
	}
	if a.Token != "" {
		request.Header.Set("Authorization", "Bearer "+a.Token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("mock-kafka: no response from the admin port: %w", err)
	}
	if stream, ok := result.(*io.ReadCloser); ok && response.StatusCode < 300 {
		*stream = response.Body
		return nil
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("mock-kafka: %s %s: %w", method, path, err)
	}
	if response.StatusCode >= 300 {
		refused := &Error{Status: response.StatusCode}
		if decode(text, &refused.Problem) != nil || refused.Problem.Detail == "" {
			refused.Problem.Detail = fmt.Sprintf("%s %s: %s %s", method, path, response.Status, text)
		}
		return refused
	}
	if raw, ok := result.(*[]byte); ok {
		*raw = text
	} else if result != nil {
		return decode(text, result)
	}
	return nil
}

// decode keeps the digits of numbers whose type is open: a float64 has no room for each int64.
func decode(text []byte, result any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(result)
}

func values(query any) (url.Values, error) {
	encoded, err := json.Marshal(query)
	if err != nil || query == nil {
		return nil, err
	}
	var fields map[string]any
	if err := decode(encoded, &fields); err != nil {
		return nil, err
	}
	parameters := url.Values{}
	for name, value := range fields {
		parameters.Set(name, fmt.Sprint(value))
	}
	return parameters, nil
}

// path returns a path with escaped values.
func path(format string, names ...any) string {
	for i, name := range names {
		names[i] = url.PathEscape(fmt.Sprint(name))
	}
	return fmt.Sprintf(format, names...)
}
