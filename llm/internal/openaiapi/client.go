// Package openaiapi is what the clients of OpenAI's protocols share: how a request is
// sent with OpenAI's SDK, how a stream of events is read, and what OpenAI's own servers
// take.
package openaiapi

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/internal/history"
)

// Azure is the provider whose protocol needs another address and header.
const Azure = "Azure"

// Client sends requests to one endpoint. It is safe for concurrent use.
type Client struct {
	sdk sdk.Client
	at  *endpoint.Endpoint
}

// NewClient returns the client of an endpoint. It takes nothing from the environment
// and repeats no request.
func NewClient(at *endpoint.Endpoint, p endpoint.Protocol) *Client {
	opts := []option.RequestOption{
		option.WithHTTPClient(at.HTTP),
		option.WithMaxRetries(0),
	}
	switch {
	case p.Provider == Azure:
		opts = append(opts, azure(at)...)
	case at.APIKey != "":
		opts = append(opts, option.WithBaseURL(at.Address), option.WithAPIKey(at.APIKey))
	default:
		opts = append(opts, option.WithBaseURL(at.Address))
	}
	for name, value := range at.Headers {
		opts = append(opts, option.WithHeader(name, value))
	}
	c := &Client{at: at}
	c.sdk.Options = opts // and none of the SDK's own from the environment
	return c
}

// azure returns what is different at Azure. A resource has its models below
// openai/deployments, each version of the API apart; its newer API, below openai/v1,
// is like OpenAI's own. An address may name the deployment, as Azure's portal shows it.
// The SDK's own package for Azure would bring Azure's SDK with it.
func azure(at *endpoint.Endpoint) []option.RequestOption {
	base := strings.TrimSuffix(at.Address, "/")
	opts := []option.RequestOption{option.WithHeader("Api-Key", at.APIKey)}
	if strings.HasSuffix(base, "/v1") {
		return append(opts, option.WithBaseURL(base))
	}
	base, deployment, _ := strings.Cut(base, "/openai/deployments/")
	deployment, _, _ = strings.Cut(deployment, "/")
	deployment = cmp.Or(deployment, at.Model)
	base = strings.TrimSuffix(base, "/openai") + "/openai/"
	return append(opts, option.WithQuery("api-version", at.APIVersion), option.WithBaseURL(base),
		option.WithMiddleware(func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			const chat = "/openai/chat/completions"
			if before, ok := strings.CutSuffix(r.URL.Path, chat); ok { // the Responses API has the model in its body
				r.URL.Path = before + "/openai/deployments/" + deployment + "/chat/completions"
			}
			return next(r)
		}))
}

// Answer is a 2xx answer, whose body is open.
type Answer struct{ *http.Response }

// Readers turn an answer into a reply: one that is whole, or one that is streamed.
type Readers struct {
	Whole    func(body []byte, header http.Header) (*llm.Response, error)
	Streamed func(a Answer) (*llm.Response, error)
}

// Ask makes the one request of a call and has its answer read, see [endpoint.Endpoint.Ask].
func (c *Client) Ask(ctx context.Context, req *llm.Request, path string, body history.Body, read Readers) (*llm.Response, error) {
	return c.at.Ask(ctx, req, func(try context.Context) (*http.Response, *llm.Response, error) {
		var answer *http.Response
		if err := c.sdk.Post(try, path, body.Reader(), nil, attach(body), option.WithResponseInto(&answer)); err != nil {
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

// attach makes body the one of the request, which the SDK would send in chunks.
func attach(body history.Body) option.RequestOption {
	return option.WithMiddleware(func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		body.Attach(r)
		return next(r)
	})
}
