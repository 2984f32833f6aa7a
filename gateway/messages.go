package gateway

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"batch.example/batch/llm/inbound"
)

// messages is Anthropic's Messages API (platform.claude.com/docs, 2026).
type messages struct{}

func (messages) routes(method, path string) route {
	path = strings.TrimSuffix(path, "/")
	switch {
	case (method == http.MethodHead || method == http.MethodGet) && (path == "" || path == "/health"):
		return routeHealth
	case method == http.MethodPost && path == "/v1/messages":
		return routeCall
	case method == http.MethodGet && path == "/v1/models":
		return routeModels
	}
	return routeNone
}

func (messages) read(body []byte) (*inbound.Call, error) { return inbound.Messages(body) }

// beyondMessages are members that outlive a call or reach the account: an id of a container at the provider,
// servers that the provider calls, and the tier of the service.
var beyondMessages = []string{"container", "mcp_servers", "service_tier"}

// hostedTools begin the types of tools that run at the provider, and reach the network from there.
var hostedTools = []string{"web_search", "web_fetch", "code_execution", "mcp_toolset"}

func (messages) edit(body []byte, model string, hosted bool) (edited []byte, removed []string, err error) {
	name, err := json.Marshal(model)
	if err != nil {
		return nil, nil, err
	}
	keepTool := func(tool gjson.Result) bool {
		kind := tool.Get("type").String()
		gone := !hosted && slices.ContainsFunc(hostedTools, func(start string) bool { return strings.HasPrefix(kind, start) })
		if gone {
			removed = append(removed, "tool "+kind)
		}
		return !gone
	}
	out := []byte{'{'}
	member := func(name, value string) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = strconv.AppendQuote(out, name)
		out = append(append(out, ':'), value...)
	}
	choice, tools := "", 0
	gjson.ParseBytes(body).ForEach(func(key, value gjson.Result) bool {
		switch {
		case key.Str == "model":
			member("model", string(name))
		case slices.Contains(beyondMessages, key.Str):
			removed = append(removed, key.Str)
		case key.Str == "tool_choice":
			choice = value.Raw
		case key.Str == "tools" && value.IsArray():
			left := elements(value, keepTool)
			if tools = len(left); tools > 0 {
				member("tools", "["+strings.Join(left, ",")+"]")
			}
		case key.Str == "messages" && !hosted:
			text, n := withoutAddresses(value)
			for range n {
				removed = append(removed, "address of an image or a document")
			}
			member("messages", text)
		default:
			out = appendMember(out, key.Raw, value.Raw)
		}
		return true
	})
	if choice != "" && tools > 0 && !chosen(choice, removed) {
		member("tool_choice", choice)
	}
	return append(out, '}'), removed, nil
}

func (messages) lower(body []byte, most int64) []byte {
	return withMember(body, "max_tokens", strconv.FormatInt(most, 10))
}

// withMember returns an object with another value of a member, which comes last.
func withMember(body []byte, name, value string) []byte {
	out := []byte{'{'}
	gjson.ParseBytes(body).ForEach(func(key, was gjson.Result) bool {
		if key.Str != name {
			out = appendMember(out, key.Raw, was.Raw)
		}
		return true
	})
	return append(appendMember(out, strconv.Quote(name), value), '}')
}

// chosen reports whether a choice of a tool may name one that was removed.
func chosen(choice string, removed []string) bool {
	return len(removed) > 0 && gjson.Get(choice, "name").Exists()
}

func appendMember(out []byte, key, value string) []byte {
	if len(out) > 1 {
		out = append(out, ',')
	}
	return append(append(append(out, key...), ':'), value...)
}

// elements returns the elements of a list that keep reports true for.
func elements(list gjson.Result, keep func(gjson.Result) bool) (left []string) {
	list.ForEach(func(_, item gjson.Result) bool {
		if keep(item) {
			left = append(left, item.Raw)
		}
		return true
	})
	return left
}

// withoutAddresses returns messages with a text in place of each block whose content the provider would fetch:
// by an address, or by the id of a file of the account. It returns the number of these too.
func withoutAddresses(list gjson.Result) (text string, n int) {
	if !strings.Contains(list.Raw, `"url"`) && !strings.Contains(list.Raw, `"file`) {
		return list.Raw, 0
	}
	var replace func(gjson.Result) string
	replace = func(v gjson.Result) string {
		switch kind := v.Get("source.type").String(); {
		case v.IsObject() && (kind == "url" || kind == "file"):
			n++
			return `{"type":"text","text":"[batch took out what the provider would have to fetch]"}`
		case v.IsArray():
			var items []string
			v.ForEach(func(_, item gjson.Result) bool {
				items = append(items, replace(item))
				return true
			})
			return "[" + strings.Join(items, ",") + "]"
		case v.IsObject() && v.Get("content").Exists():
			out := []byte{'{'}
			v.ForEach(func(key, value gjson.Result) bool {
				raw := value.Raw
				if key.Str == "content" {
					raw = replace(value)
				}
				out = appendMember(out, key.Raw, raw)
				return true
			})
			return string(append(out, '}'))
		}
		return v.Raw
	}
	text = replace(list)
	return text, n
}

// header returns the version of the API and the features that a client asks for.
func (messages) header(h http.Header) http.Header {
	sent := http.Header{}
	for _, name := range []string{"Anthropic-Version", "Anthropic-Beta"} {
		if values := h.Values(name); len(values) > 0 {
			sent[name] = slices.Clone(values)
		}
	}
	return sent
}

func (messages) models(alias string) []byte {
	return encode(map[string]any{
		"data":     []any{map[string]any{"type": "model", "id": alias, "display_name": alias, "created_at": "2025-01-01T00:00:00Z"}},
		"has_more": false, "first_id": alias, "last_id": alias,
	})
}

func (messages) refusal(status int, message string) []byte {
	kind := map[int]string{http.StatusUnauthorized: "authentication_error", http.StatusNotFound: "not_found_error"}[status]
	if kind == "" {
		kind = "invalid_request_error"
	}
	return encode(map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": message}})
}

func (m messages) broken(message string) []byte {
	return event("error", m.refusal(http.StatusBadRequest, message))
}

func (messages) alive() []byte { return event("ping", []byte(`{"type":"ping"}`)) }

func event(name string, data []byte) []byte {
	return slices.Concat([]byte("event: "+name+"\ndata: "), data, []byte("\n\n"))
}

func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings alone
	}
	return text
}
