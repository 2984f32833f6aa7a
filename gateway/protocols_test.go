package gateway

import (
	"net/http"
	"strings"
	"testing"

	"batch.example/batch/llm"
	"batch.example/batch/llm/anthropic"
	"batch.example/batch/llm/endpoint"
	gem "batch.example/batch/llm/gemini"
	oai "batch.example/batch/llm/openai"
	resp "batch.example/batch/llm/responses"
)

// asking is a request as a program writes it.
type asking struct{ path, body string }

// with returns the request with another text in place of one.
func (a asking) with(old, text string) asking {
	a.body = strings.Replace(a.body, old, text, 1)
	return a
}

// protocol has what the tests need of one protocol.
type protocol struct {
	wire    string
	key     string // the header of keys
	connect func(endpoint.Config) (llm.Model, error)
	plain   asking // a request for a stream, with the text "hello" and the limit 10
	whole   asking // the same at once
	tools   asking // a request at once with a conversation, a tool and unknown members
	sentAs  string // the path at the provider, of tools
	edited  string // the body of tools at the provider
	header  http.Header

	stream  string // the provider's answer to plain
	shown   string // what the program gets of it
	last    string // the end of shown that waits for the record
	once    string // the provider's answer to whole
	signs   []string
	tooLong string // the provider's refusal
	ends    string // how a refusal within a stream begins; empty: there is none
}

func event1(data string) string { return "data: " + data + "\n\n" }

const (
	usageOfChat = `{"id":"c1","object":"chat.completion.chunk","model":"x","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":5,"total_tokens":8}}`
	chatBegins  = `{"id":"c1","object":"chat.completion.chunk","created":7,"model":"x","choices":[{"index":0,"delta":{"role":"assistant","content":"h\u00e9"},"finish_reason":null}],"unheard_of": [1,  2]}`
	chatEnds    = `{"id":"c1","object":"chat.completion.chunk","created":7,"model":"x","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`

	messageStop = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	completed   = "event: response.completed\ndata: " + `{"type":"response.completed","response":` + response + "}\n\n"
	response    = `{"id":"r1","object":"response","status":"completed","model":"x","output":[{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gA=="},{"id":"m1","type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}],"usage":{"input_tokens":3,"output_tokens":5,"total_tokens":8}}`
	candidate   = "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"h\u00e9\", \"thoughtSignature\": \"c2ln\"}],\"role\": \"model\"}}],\"modelVersion\": \"x\"}\r\n\r\n"
	candidate2  = "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"i\"}],\"role\": \"model\"},\"finishReason\": \"STOP\"}],\"usageMetadata\": {\"promptTokenCount\": 3,\"candidatesTokenCount\": 5},\"unheard_of\": {}}\r\n\r\n"
)

var protocols = map[string]protocol{
	"messages": {
		wire: "messages", key: "X-Api-Key", connect: func(c endpoint.Config) (llm.Model, error) { return anthropic.New(c) },
		plain: asking{"/v1/messages?beta=true", `{"model":"alias","max_tokens":10,"stream":true,"messages":[{"role":"user","content":"hello"}]}`},
		whole: asking{"/v1/messages", `{"model":"alias","max_tokens":10,"messages":[{"role":"user","content":"hello"}]}`},
		tools: asking{"/v1/messages", `{"messages":[{"role":"user","content":[{"type":"text","text":"h\u00e9","cache_control":{"type":"ephemeral"}}]},` +
			`{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"c2ln=="},{"type":"tool_use","id":"a","name":"bash","input":{"b": 1}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}],"new_member":{"z":1,"a":2},"model":"opus","max_tokens":10,` +
			`"tool_choice":{"type":"auto"},"tools":[{"name":"bash","input_schema":{"type":"object"}}],"metadata":{"user_id":"u"}}`},
		sentAs: "/v1/messages",
		header: http.Header{"Anthropic-Beta": {"one,two"}, "Anthropic-Version": {"2023-06-01"}},
		stream: "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"role\":\"assistant\",\"model\":\"x\",\"content\":[],\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\n" +
			"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" +
			"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hé\\u00e9\"}}\n\n" +
			"event: unheard_of\ndata: {\"type\":\"unheard_of\",\"a\": [1,  2]}\n\n" +
			"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":5}}\n\n" + messageStop,
		last:    messageStop,
		once:    `{"type":"message","role":"assistant","model":"x","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","unheard_of":{"b":2},"usage":{"input_tokens":3,"output_tokens":5}}`,
		signs:   []string{"event: ping\ndata: {\"type\":\"ping\"}\n\n"},
		tooLong: `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"},"x":1}`,
		ends:    "event: error\ndata: {",
	},
	"chat": {
		wire: "chat", key: "Authorization", connect: func(c endpoint.Config) (llm.Model, error) { return oai.New(c) },
		plain: asking{"/v1/chat/completions", `{"model":"alias","max_tokens":10,"stream":true,"messages":[{"role":"user","content":"hello"}]}`},
		whole: asking{"/chat/completions", `{"model":"alias","max_tokens":10,"messages":[{"role":"user","content":"hello"}]}`},
		tools: asking{"/v1/chat/completions", `{"messages":[{"role":"developer","content":"s"},{"role":"user","content":[{"type":"text","text":"h\u00e9"},{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}]},` +
			`{"role":"assistant","content":null,"reasoning_details":[{"type":"reasoning.encrypted","data":"gA=="}],"tool_calls":[{"id":"a","type":"function","function":{"name":"bash","arguments":"{\"b\": 1}"}}]},` +
			`{"role":"tool","tool_call_id":"a","content":"x"}],"new_member":{"z":1,"a":2},"model":"gpt","max_completion_tokens":10,"tool_choice":"auto","tools":[{"type":"function","function":{"name":"bash"}}]}`},
		sentAs:  "/v1/chat/completions",
		header:  http.Header{"Openai-Beta": {"one"}},
		stream:  event1(chatBegins) + event1(chatEnds) + event1(usageOfChat) + event1("[DONE]"),
		shown:   event1(chatBegins) + event1(chatEnds) + event1("[DONE]"),
		last:    event1("[DONE]"),
		once:    `{"id":"c1","object":"chat.completion","model":"x","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"hi"}}],"usage":{"prompt_tokens":3,"completion_tokens":5,"total_tokens":8}, "unheard_of":1}`,
		signs:   []string{event1(`{"choices":[{"delta":{},"finish_reason":null,"index":0}],"created":0,"id":"","model":"","object":"chat.completion.chunk"}`), event1(`{"choices":[{"delta":{},"finish_reason":null,"index":0}],"created":7,"id":"c1","model":"x","object":"chat.completion.chunk"}`)},
		tooLong: `{"error":{"message":"This model's maximum context length is 128000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`,
		ends:    `data: {"error":{`,
	},
	"responses": {
		wire: "responses", key: "Authorization", connect: func(c endpoint.Config) (llm.Model, error) { return resp.New(c) },
		plain: asking{"/v1/responses", `{"model":"alias","max_output_tokens":10,"stream":true,"store":false,"input":"hello"}`},
		whole: asking{"/responses", `{"model":"alias","max_output_tokens":10,"store":false,"input":"hello"}`},
		tools: asking{"/v1/responses", `{"instructions":"s","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"h\u00e9"}]},` +
			`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gA=="},{"type":"custom_tool_call","call_id":"a","name":"apply_patch","input":"*** Begin"},` +
			`{"type":"custom_tool_call_output","call_id":"a","output":"x"},{"type":"unheard_of","a":{"b":1}}],"new_member":{"z":1,"a":2},"model":"gpt","store":false,` +
			`"include":["reasoning.encrypted_content"],"tool_choice":"auto","tools":[{"type":"custom","name":"apply_patch"},{"type":"namespace","name":"n","tools":[{"type":"function","name":"f"}]}]}`},
		sentAs: "/v1/responses",
		header: http.Header{"Openai-Beta": {"one"}},
		stream: "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"r1\"}}\n\n" +
			"event: response.unheard_of\ndata: {\"type\":\"response.unheard_of\",\"a\": [1,  2]}\n\n" +
			"event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"h\u00e9\"}\n\n" + completed,
		last:    completed,
		once:    response,
		signs:   []string{"event: response.heartbeat\ndata: {\"type\":\"response.heartbeat\"}\n\n"},
		tooLong: `{"error":{"message":"Your input exceeds the context window of this model.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}`,
		ends:    "event: response.failed\ndata: {",
	},
	"gemini": {
		wire: "gemini", key: "X-Goog-Api-Key", connect: func(c endpoint.Config) (llm.Model, error) { return gem.New(c) },
		plain: asking{"/v1beta/models/flash:streamGenerateContent?alt=sse", `{"contents":[{"role":"user","parts":[{"text":"hello"}]}],"generationConfig":{"maxOutputTokens":10}}`},
		whole: asking{"/v1/models/flash:generateContent", `{"contents":[{"role":"user","parts":[{"text":"hello"}]}],"generationConfig":{"maxOutputTokens":10}}`},
		tools: asking{"/v1beta/models/pro:generateContent", `{"systemInstruction":{"parts":[{"text":"s"}]},"contents":[{"role":"user","parts":[{"text":"h\u00e9"},{"inlineData":{"mimeType":"image/png","data":"aGk="}}]},` +
			`{"role":"model","parts":[{"functionCall":{"id":"a","name":"bash","args":{"b": 1}},"thoughtSignature":"c2ln"}]},{"role":"user","parts":[{"functionResponse":{"id":"a","name":"bash","response":{"output":"x"}}}]}],` +
			`"new_member":{"z":1,"a":2},"toolConfig":{"functionCallingConfig":{"mode":"AUTO"}},"tools":[{"functionDeclarations":[{"name":"bash"}]}]}`},
		sentAs:  "/v1beta/models/the-model:generateContent",
		stream:  candidate + candidate2,
		last:    candidate2,
		once:    `{"candidates": [{"content": {"parts": [{"text": "hi"}],"role": "model"},"finishReason": "STOP"}],"usageMetadata": {"promptTokenCount": 3,"candidatesTokenCount": 5}}`,
		tooLong: "{\n  \"error\": {\n    \"code\": 400,\n    \"message\": \"The input token count exceeds the maximum\",\n    \"status\": \"INVALID_ARGUMENT\"\n  }\n}\n",
	},
}

// each runs a test for each protocol.
func each(t *testing.T, test func(t *testing.T, p protocol)) {
	for name, p := range protocols {
		if p.shown == "" {
			p.shown = p.stream
		}
		if p.edited == "" {
			p.edited = strings.NewReplacer(`"model":"opus"`, `"model":"the-model"`, `"model":"gpt"`, `"model":"the-model"`).Replace(p.tools.body)
		}
		t.Run(name, func(t *testing.T) { test(t, p) })
	}
}

// answersStream is a provider that answers with a stream.
func (p protocol) answersStream(w http.ResponseWriter, _ *http.Request) {
	answers(w, "text/event-stream", p.stream)
}

// withoutSigns returns a stream without the signs of life.
func (p protocol) withoutSigns(stream string) string {
	for _, sign := range p.signs {
		stream = strings.ReplaceAll(stream, sign, "")
	}
	return stream
}
