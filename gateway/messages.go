package gateway

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/tidwall/gjson"

	"batch.example/batch/llm/inbound"
)

// messages is Anthropic's Messages API (platform.claude.com/docs, 2026).
type messages struct{ asItComes }

func (messages) routes(method, path string) route {
	if method == http.MethodPost && path == "/v1/messages/count_tokens" {
		return routeCount
	}
	return routeOf(method, path, "/v1/messages", "/v1/models")
}

func (messages) read(_ *url.URL, body []byte) (*inbound.Call, error) { return inbound.Messages(body) }

// messagesTable is after the members, tools and blocks of anthropic-sdk-go 1.84.0 (BetaMessageNewParams,
// BetaToolUnionParam): an id of a container at the provider, servers that the provider calls, what makes the
// service dearer than its price (its tier, speed and place), and other models that answer in place of the one that was asked or advise it.
var messagesTable = table{
	out:    []string{"container", "mcp_servers", "service_tier", "speed", "inference_geo", "fallbacks", "fallback_credit_token"},
	choice: []string{"tool_choice"}, body: []string{"messages"}, inner: []string{"content", "source"},
	hosted: func(tool fields) bool {
		return tool.has(begins("web_search", "web_fetch", "code_execution", "mcp_toolset", "advisor"), "type")
	},
	fetched: func(block fields) bool {
		return block.has(begins("url", "file"), "source", "type") || block.has(begins("container_upload"), "type")
	},
	text: `{"type":"text","text":` + tookOut + `}`,
}

// tookOut is the text in place of what was taken out of a conversation, as JSON.
const tookOut = `"[batch took out what the provider would have to fetch]"`

func (messages) edit(body []byte, model string, hosted bool) (edited []byte, removed []string, err error) {
	return messagesTable.edit(body, map[string]string{"model": encodeName(model)}, hosted)
}

func (messages) lower(body []byte, most int64) []byte {
	return limited(gjson.ParseBytes(body), most, "max_tokens")
}

// header returns the version of the API and the features that a client asks for.
func (messages) header(h http.Header) http.Header {
	return only(h, "Anthropic-Version", "Anthropic-Beta")
}

func (messages) models(alias string, one bool) []byte {
	model := map[string]any{"type": "model", "id": alias, "display_name": alias, "created_at": "2025-01-01T00:00:00Z"}
	if one {
		return encode(model)
	}
	return encode(map[string]any{"data": []any{model}, "has_more": false, "first_id": alias, "last_id": alias})
}

func (messages) refusal(status int, message string) []byte {
	kind := map[int]string{http.StatusUnauthorized: "authentication_error", http.StatusNotFound: "not_found_error"}[status]
	if kind == "" {
		kind = "invalid_request_error"
	}
	return encode(map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": message}})
}

func (m messages) broken(said []byte, message string) []byte {
	if said == nil || !gjson.GetBytes(said, "error.message").Exists() {
		said = m.refusal(http.StatusBadRequest, message)
	}
	return event("error", said)
}

func (messages) alive(_, _ []byte) []byte { return event("ping", []byte(`{"type":"ping"}`)) }

// event returns an event of a stream; without a name, it has its data alone.
func event(name string, data []byte) []byte {
	out := []byte("data: ")
	if name != "" {
		out = []byte("event: " + name + "\ndata: ")
	}
	return append(append(out, oneLine(data)...), "\n\n"...)
}

// oneLine returns JSON without line breaks.
func oneLine(text []byte) []byte {
	if !json.Valid(text) {
		return encode(string(text))
	}
	return []byte(strings.NewReplacer("\r", "", "\n", "").Replace(string(text))) // a JSON text has none within its strings
}
