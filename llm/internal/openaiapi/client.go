// Package openaiapi is what the clients of OpenAI's protocols share: how a request is
// sent, how a stream of events is read, and what OpenAI's own servers take.
//
// The requests are this package's own: OpenAI's SDK (openai-go 3.95.0) builds each from
// nothing, which takes longer than to read its answer.
package openaiapi

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"

	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/internal/history"
)

// Azure is the provider whose protocol needs another address and header.
const Azure = "Azure"

// Client sends requests to one endpoint. It is safe for concurrent use.
type Client struct {
	at  *endpoint.Endpoint
	ask *http.Request // without a body
}

// NewClient returns the client of an endpoint for the requests at one path below it.
func NewClient(at *endpoint.Endpoint, p endpoint.Protocol, path string) (*Client, error) {
	u, err := url.Parse(at.Address)
	if err != nil {
		return nil, err
	}
	u.RawQuery = ""
	if p.Provider == Azure {
		u, path = azure(at, u, path)
	}
	ask, err := http.NewRequest(http.MethodPost, u.JoinPath(path).String(), nil)
	if err != nil {
		return nil, err
	}
	ask.Header.Set("Content-Type", "application/json")
	ask.Header.Set("Accept", "application/json")
	ask.Header.Set("User-Agent", "batch")
	switch {
	case p.Provider == Azure:
		ask.Header.Set("Api-Key", at.APIKey)
	case at.APIKey != "":
		ask.Header.Set("Authorization", "Bearer "+at.APIKey)
	}
	for name, value := range at.Headers {
		ask.Header.Set(name, value)
	}
	return &Client{at, ask}, nil
}

// azure returns the address of a request at Azure. A resource has its models below
// openai/deployments, each version of the API apart; its newer API, below openai/v1,
// is like OpenAI's own. An address may name the deployment, as Azure's portal shows it.
func azure(at *endpoint.Endpoint, base *url.URL, path string) (*url.URL, string) {
	clean := strings.TrimSuffix(base.Path, "/")
	if strings.HasSuffix(clean, "/v1") {
		return base, path
	}
	clean, deployment, _ := strings.Cut(clean, "/openai/deployments/")
	deployment, _, _ = strings.Cut(deployment, "/")
	u := *base
	u.Path = strings.TrimSuffix(clean, "/openai") + "/openai"
	u.RawQuery = url.Values{"api-version": {at.APIVersion}}.Encode()
	if path == "chat/completions" { // the Responses API has the model in its body
		path = "deployments/" + url.PathEscape(cmp.Or(deployment, at.Model)) + "/" + path
	}
	return &u, path
}

// Answer is a 2xx answer, whose body is open.
type Answer struct{ *http.Response }

// Readers turn an answer into a reply: one that is whole, or one that is streamed.
type Readers struct {
	Whole    func(body []byte, header http.Header) (*llm.Response, error)
	Streamed func(a Answer) (*llm.Response, error)
}

// Ask makes the one request of a call and has its answer read, see [endpoint.Endpoint.Ask].
func (c *Client) Ask(ctx context.Context, req *llm.Request, body history.Body, read Readers) (*llm.Response, error) {
	return c.at.Ask(ctx, req, func(try context.Context) (*http.Response, *llm.Response, error) {
		ask := c.ask.WithContext(try) // nobody changes the header that they share
		body.Attach(ask)
		answer, err := c.at.Send(ask)
		if err != nil {
			return answer, nil, err
		}
		defer answer.Body.Close()
		if c.at.Stream && streamed(answer) {
			resp, err := read.Streamed(Answer{answer})
			return answer, resp, err
		}
		whole, err := io.ReadAll(answer.Body)
		if err != nil {
			return answer, nil, err
		}
		resp, err := read.Whole(whole, answer.Header)
		return answer, resp, err
	})
}

// streamed reports whether the answer is a stream of events. A server may answer a
// request for one at once.
func streamed(answer *http.Response) bool {
	return !strings.Contains(strings.ToLower(answer.Header.Get("Content-Type")), "json")
}
