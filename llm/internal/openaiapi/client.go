// Package openaiapi is shared by the clients of OpenAI's protocols: the addresses of requests, the reading of
// event streams, and the members that OpenAI's own servers accept.
//
// This package makes the requests itself: OpenAI's SDK (openai-go 3.95.0) encodes each whole request again,
// which takes longer than reading its answer.
package openaiapi

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"batch.example/batch/llm/endpoint"
)

// Azure is the provider of the same protocols with another address and header.
const Azure = "Azure"

// NewExchange returns the calls at one path below an endpoint. The caller sets how their answers are read.
func NewExchange(at *endpoint.Endpoint, p endpoint.Protocol, path string) (endpoint.Exchange, error) {
	u, err := url.Parse(at.Address)
	if err != nil {
		return endpoint.Exchange{}, err
	}
	u.RawQuery = ""
	if p.Provider == Azure {
		u, path = azure(at, u, path)
	}
	ask, err := http.NewRequest(http.MethodPost, u.JoinPath(path).String(), nil)
	if err != nil {
		return endpoint.Exchange{}, err
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
	return endpoint.Exchange{Send: at.Sender(ask), Streams: func(answer *http.Response) bool { return at.Stream && streamed(answer) }}, nil
}

// azure returns the address of a request at Azure. A resource has its models below openai/deployments, one
// per version of the API; its newer API, below openai/v1, is like OpenAI's own. An address may name the
// deployment, as Azure's portal shows it.
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

// streamed reports whether the answer is a stream of events. A server may answer without streaming although
// the request asks for it.
func streamed(answer *http.Response) bool {
	return !strings.Contains(strings.ToLower(answer.Header.Get("Content-Type")), "json")
}
