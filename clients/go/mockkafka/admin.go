package mockkafka

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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

// Error returns the reason and the remedy.
func (e *Error) Error() string { return "mock-kafka: " + e.Problem.Detail }

// Do sends a request, and decodes the response into `result` unless it is nil.
//
// A query and a body are encoded as JSON is: `omitempty` leaves out what is not set. A nil query or
// body is none. A *[]byte gets the response as it is, and an *io.ReadCloser gets it while it arrives.
func (a *Admin) Do(ctx context.Context, method, path string, query, body, result any) error {
	var fields map[string]any
	encoded, unencodable := json.Marshal(query)
	content, invalid := json.Marshal(body)
	if body == nil {
		content = nil
	}
	unencodable = errors.Join(unencodable, invalid, decode(encoded, &fields))
	parameters := url.Values{}
	for name, value := range fields {
		parameters.Set(name, fmt.Sprint(value))
	}
	target := a.URL + path + "?" + parameters.Encode()
	request, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(content))
	if err = errors.Join(unencodable, err); err != nil {
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
	if response.StatusCode >= 300 {
		refused := &Error{Status: response.StatusCode}
		if decode(text, &refused.Problem) != nil || refused.Problem.Detail == "" {
			refused.Problem.Detail = fmt.Sprintf("%s %s: %s %s", method, path, response.Status, text)
		}
		return refused
	}
	switch result := result.(type) {
	case nil:
	case *[]byte:
		*result = text
	default:
		err = errors.Join(err, decode(text, result))
	}
	return err
}

// decode keeps the digits of numbers whose type is open: a float64 has no room for each int64.
func decode(text []byte, result any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(result)
}
