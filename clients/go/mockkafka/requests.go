package mockkafka

import (
	"encoding/json"
	"fmt"
	"strings"
)

const requestsMax = 10_000

// RequestFilter selects requests: what is set must fit.
type RequestFilter = ListRequestsQuery

// Request is a request that the cluster received, and its outcome; or with Kind "connection" or
// "disconnect" a connection that a fault refused or delayed, or the end of one.
//
// Times are in ms of the cluster's clock, DurationUS is in microseconds of real time. Request and
// Response are the decoded messages, with the names of Kafka's schemas and numbers as json.Number.
type Request struct {
	Number           int64    `json:"number"`
	Kind             string   `json:"kind"`
	ReceivedMS       int64    `json:"received_ms"`
	Broker           int      `json:"broker"`
	Connection       int64    `json:"connection"`
	ClientHost       string   `json:"client_host"`
	ClientID         string   `json:"client_id"`
	User             string   `json:"user"`
	API              API      `json:"api"`
	Version          int      `json:"version"`
	Outcome          string   `json:"outcome"`
	CloseReason      string   `json:"close_reason"`
	Reason           string   `json:"reason"` // of a disconnect
	DurationUS       int64    `json:"duration_us"`
	ThrottleTimeMS   int64    `json:"throttle_time_ms"`
	Fault            string   `json:"fault"` // what a rule did to it
	Topics           []string `json:"topics"`
	Groups           []string `json:"groups"`
	TransactionalIDs []string `json:"transactional_ids"`
	Errors           []string `json:"errors"` // all error codes in the response
	Request          any      `json:"request"`
	Response         any      `json:"response"`
}

// String returns one readable line.
func (r Request) String() string {
	client, action := r.ClientID, fmt.Sprintf("%s v%d", r.API, r.Version)
	if r.Kind != "request" {
		client, action = r.ClientHost, r.Kind
	}
	parts := []string{fmt.Sprintf("#%d  broker %d  %s  %s", r.Number, r.Broker, client, action)}
	for _, names := range [][]string{r.Topics, r.Groups, r.TransactionalIDs} {
		parts = append(parts, names...)
	}
	parts = append(parts, "->", r.Outcome, r.CloseReason+r.Reason)
	parts = append(parts, r.Errors...)
	if r.Fault != "" {
		parts = append(parts, "["+r.Fault+"]")
	}
	return strings.Join(strings.Fields(strings.Join(parts, " ")), " ")
}

// Requests returns the requests that the cluster received since its reset and that fit, the oldest first.
func (k *Kafka) Requests(filter RequestFilter) (requests []Request) {
	k.t.Helper()
	if filter.Kind == "" {
		filter.Kind = "request"
	}
	if filter.Limit == 0 {
		filter.Limit = requestsMax
	}
	k.check(k.Admin.Do(k.ctx, "GET", "/v1/requests", filter, nil, &requests))
	return requests
}

// WaitForRequest returns the first request that fits, or waits for it. It may have no response yet; with
// Outcome: "responded" it has.
func (k *Kafka) WaitForRequest(filter RequestFilter) Request {
	k.t.Helper()
	if filter.Kind == "" {
		filter.Kind = "request"
	}
	query := struct {
		RequestFilter
		TimeoutMS int64 `json:"timeout_ms"`
	}{filter, k.timeout.Milliseconds()}
	var found *Request
	k.check(k.Admin.Do(k.ctx, "GET", "/v1/requests/wait", query, nil, &found))
	if found == nil {
		last := k.Requests(RequestFilter{Limit: requestsShown, Bodies: Ptr(false)})
		asked, _ := json.Marshal(filter)
		k.t.Fatalf("mock-kafka: no request that fits %s in %v; the last ones:%s", asked, k.timeout, linesOf(last))
	}
	return *found
}

func linesOf(requests []Request) string {
	lines := "\n  none"
	for i, request := range requests {
		if i == 0 {
			lines = ""
		}
		lines += "\n  " + request.String()
	}
	return lines
}
