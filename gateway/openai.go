package gateway

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/tidwall/gjson"

	"batch.example/batch/llm/inbound"
)

// openai is what OpenAI's two protocols share.
type openai struct{}

func (openai) header(h http.Header) http.Header { return only(h, "OpenAI-Beta") }

func (openai) models(alias string, one bool) []byte {
	model := map[string]any{"id": alias, "object": "model", "created": 0, "owned_by": "batch"}
	if one {
		return encode(model)
	}
	return encode(map[string]any{"object": "list", "data": []any{model}})
}

func (openai) refusal(status int, message string) []byte {
	code := map[int]string{http.StatusUnauthorized: "invalid_api_key", http.StatusNotFound: "unknown_url"}[status]
	if code == "" {
		code = "batch_refused"
	}
	return encode(map[string]any{"error": map[string]any{"message": message, "type": "invalid_request_error", "param": nil, "code": code}})
}

// openaiOut are members that outlive a call, reach the account or ask another model, in both protocols: those
// of openai-go 3.99.0, OpenRouter's models and plugins, and those by which LiteLLM's proxy is sent elsewhere
// (docs of both, 2026).
var openaiOut = []string{
	"service_tier", "models", "route", "fallbacks", "context_window_fallbacks", "content_policy_fallbacks",
	"api_base", "base_url", "api_key", "api_version", "organization", "extra_headers", "user_config", "model_list", "mock_response",
}

// chat is OpenAI's chat completions, which most servers of open models speak too.
type chat struct{ openai }

func (chat) routes(method, path string) route {
	return routeOf(method, path, "/v1/chat/completions", "/v1/models")
}

func (chat) read(_ *url.URL, body []byte) (*inbound.Call, error) { return inbound.Chat(body) }

// chatTable is after ChatCompletionNewParams and its parts of messages in openai-go 3.99.0, with the searches
// of xAI, DashScope and OpenRouter, and vLLM's parts with addresses. Tools of other types than these two run at
// the provider, whoever that is.
var chatTable = table{
	out: append([]string{"store"}, openaiOut...), answers: []string{"n"},
	choice: []string{"tool_choice", "function_call"}, body: []string{"messages"}, inner: []string{"content"},
	hostedOut: []string{"web_search_options", "search_parameters", "enable_search", "search_options", "plugins"},
	hosted: func(tool fields) bool {
		return tool.has(func(kind gjson.Result) bool { return kind.Str != "function" && kind.Str != "custom" }, "type")
	},
	fetched: func(part fields) bool {
		for _, name := range []string{"image_url", "video_url", "audio_url", "input_audio", "file"} {
			if part.has(address, name, "url") || part.has(address, name) || part.has(anything, name, "file_id") || part.has(begins("http"), name, "file_data") {
				return true
			}
		}
		return false
	},
	text: `{"type":"text","text":` + tookOut + `}`,
}

// edit also asks for the usage of a stream, which batch has to know.
func (c chat) edit(body []byte, model string, hosted bool) (edited []byte, removed []string, err error) {
	set := map[string]string{"model": encodeName(model)}
	if fieldsOf(gjson.ParseBytes(body)).has(gjson.Result.Bool, "stream") {
		set["stream_options"] = withUsage(gjson.GetBytes(body, "stream_options"))
	}
	return chatTable.edit(body, set, hosted)
}

// withUsage returns the options of a stream, as they are if they ask for the usage.
func withUsage(options gjson.Result) string {
	if asked := options.Get("include_usage"); asked.Type == gjson.True && strings.Count(options.Raw, "usage") == 1 {
		return options.Raw
	}
	out := object{}
	if options.IsObject() {
		options.ForEach(func(key, value gjson.Result) bool {
			if !named(key, "include_usage") {
				out.add(key.Raw, value.Raw)
			}
			return true
		})
	}
	out.add(`"include_usage"`, "true")
	return string(out.bytes())
}

// unasked is the piece of a stream with its usage alone.
func (chat) unasked(body []byte) func(event []byte) bool {
	if gjson.GetBytes(body, "stream_options.include_usage").Bool() {
		return nil
	}
	return func(event []byte) bool {
		data := gjson.ParseBytes(dataOf(event))
		choices := data.Get("choices")
		return choices.IsArray() && len(choices.Array()) == 0 && data.Get("usage").IsObject()
	}
}

func (c chat) broken(said []byte, message string) []byte {
	if said == nil || !gjson.GetBytes(said, "error").Exists() {
		said = c.refusal(http.StatusBadRequest, message)
	}
	return event("", said)
}

// alive is a piece without words of the stream that has begun with an event: clients drop one with another id. It
// repeats why the answer has ended, once that was said: clients take the last word about it.
func (chat) alive(first, last []byte) []byte {
	data := gjson.ParseBytes(dataOf(first))
	finish := gjson.GetBytes(dataOf(last), "choices.0.finish_reason")
	return event("", encode(map[string]any{
		"id": data.Get("id").String(), "object": "chat.completion.chunk", "created": data.Get("created").Int(), "model": data.Get("model").String(),
		"choices": []any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": finish.Value()}},
	}))
}

// lower sets both names of the limit where both are there.
func (chat) lower(body []byte, most int64) []byte {
	old, now := gjson.GetBytes(body, "max_tokens").Exists(), gjson.GetBytes(body, "max_completion_tokens").Exists()
	if old {
		body = limited(gjson.ParseBytes(body), most, "max_tokens")
	}
	if now || !old {
		body = limited(gjson.ParseBytes(body), most, "max_completion_tokens")
	}
	return body
}

// responses is OpenAI's Responses API.
type responses struct {
	openai
	asItComes
}

func (responses) routes(method, path string) route {
	if method == http.MethodGet && (path == "/v1/responses" || path == "/responses") {
		return routeUpgrade
	}
	return routeOf(method, path, "/v1/responses", "/v1/models")
}

func (responses) read(_ *url.URL, body []byte) (*inbound.Call, error) { return inbound.Responses(body) }

// responsesTable is after ResponseNewParams, ToolUnionParam and ResponseInputItemUnionParam of openai-go 3.99.0.
// A shell that has an environment other than the local one runs in a container of the provider.
var responsesTable = table{
	out: append([]string{"background"}, openaiOut...), answers: []string{"n"},
	refused: []string{"previous_response_id", "conversation", "prompt"},
	choice:  []string{"tool_choice"}, body: []string{"input"}, inner: []string{"content", "output"},
	hostedOut: []string{"plugins"},
	hosted: func(tool fields) bool {
		remote := func(kind gjson.Result) bool { return kind.Str != "local" }
		return tool.has(begins("web_search", "file_search", "code_interpreter", "image_generation", "mcp", "programmatic_tool_calling"), "type") ||
			tool.has(anything, "container") || tool.has(remote, "environment", "type")
	},
	fetched: func(part fields) bool {
		return part.has(address, "image_url") || part.has(anything, "file_id") || part.has(anything, "file_url")
	},
	text:      `{"type":"input_text","text":` + tookOut + `}`,
	reference: "item_reference",
}

// edit also forbids that the provider keeps the answer, which it does by default.
func (responses) edit(body []byte, model string, hosted bool) (edited []byte, removed []string, err error) {
	return responsesTable.edit(body, map[string]string{"model": encodeName(model), "store": "false"}, hosted)
}

// broken is a failed response. Its code is one that Codex does not answer by asking again
// (codex-api/src/sse/responses.rs): the provider's own for a conversation that is too long, by which it
// compacts, and otherwise the one whose message it shows.
func (responses) broken(said []byte, message string) []byte {
	failed := map[string]any{"code": "invalid_prompt", "message": message}
	if given := gjson.GetBytes(said, "error"); given.Get("message").Exists() {
		failed["message"] = given.Get("message").String()
		if code := given.Get("code").String(); code == "context_length_exceeded" {
			failed["code"] = code
		}
	}
	return event("response.failed", encode(map[string]any{"type": "response.failed", "response": map[string]any{
		"id": "resp_batch", "object": "response", "status": "failed", "output": []any{}, "error": failed,
	}}))
}

// alive is an event of a type that no client knows: Codex counts an event, and not a comment.
func (responses) alive(_, _ []byte) []byte {
	return event("response.heartbeat", []byte(`{"type":"response.heartbeat"}`))
}

func (responses) lower(body []byte, most int64) []byte {
	return limited(gjson.ParseBytes(body), most, "max_output_tokens")
}
