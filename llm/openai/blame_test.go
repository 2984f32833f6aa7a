package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/openai"
	"batch.example/batch/llm/stub"
)

// What each status means is in the conformance suite.
func TestFaultKindOfAnswers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer stub.Answer
		kind   fault.Kind
		lost   int
		want   string // in the error's text or hint
	}{
		{"key refused", stub.Refusal(401, "invalid_api_key", "no"), fault.Host, 0, "OPENAI_API_KEY"},
		{"no such model", stub.Refusal(404, "model_not_found", "the model `m` does not exist"), fault.Host, 0, "check the model name m"},
		{"no credit", stub.Refusal(402, "", "insufficient balance"), fault.Host, 0, "credit"},
		{"quota spent", stub.Refusal(429, "insufficient_quota", "you exceeded your current quota"), fault.Host, 0, "billing"},
		{"no credit, Zhipu", stub.Refusal(429, "1113", "Insufficient balance or no resource package. Please recharge."), fault.Host, 0, "credit"},
		{"no credit, Zhipu's older code", stub.Answer{Status: 429, Body: []byte(`{"error":{"code":"1113","message":"您的账户已欠费,请充值后重试"}}`)}, fault.Host, 0, "credit"},
		{"no credit, Moonshot", stub.Answer{Status: 429, Body: []byte(`{"error":{"message":"Your account org-1 <ak-1> is suspended due to insufficient balance, please recharge your account","type":"exceeded_current_quota_error"}}`)}, fault.Host, 0, "credit"},
		{"no credit, xAI", stub.Answer{Status: 429, Body: []byte(`{"code":"Some resource has been exhausted","error":"Your team 1 has either used all available credits or reached its monthly spending limit."}`)}, fault.Host, 0, "credit"},
		{"no credit, MiniMax", stub.Answer{Body: []byte(`{"choices":null,"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}`)}, fault.Host, 0, "credit"},
		{"no credit, DashScope", stub.Refusal(400, "Arrearage", "Access denied, please make sure your account is in good standing."), fault.Host, 0, "credit"},
		{"no credit, Gemini", stub.Refusal(429, "", "Your prepayment credits are depleted. Please go to AI Studio."), fault.Host, 0, "credit"},
		{"no credit, Volcengine", stub.Refusal(403, "AccountOverdueError", "The request failed because your account has an overdue balance."), fault.Host, 0, "credit"},
		{"no credit, SiliconFlow", stub.Answer{Status: 403, Body: []byte(`{"code":30001,"message":"Sorry, your account balance is insufficient","data":null}`)}, fault.Host, 0, "credit"},
		{"credits of a minute", stub.Refusal(429, "", "There are no remaining free credits for this minute, please retry shortly"), fault.Transient, 0, "this minute"},
		{"credits of a window", stub.Refusal(429, "", "Credits used in this window: rate exceeded"), fault.Transient, 0, "this window"},
		{"credits that come back", stub.Answer{Status: 429, RetryAfter: time.Millisecond, Body: []byte(`{"error":{"message":"insufficient credits"}}`)}, fault.Transient, 0, "insufficient"},
		{"a budget, LiteLLM", stub.Answer{Status: 400, Body: []byte(`{"error":{"message":"Budget has been exceeded! Current cost: 3.1, Max budget: 3.0","type":"budget_exceeded","param":null,"code":"400"}}`)}, fault.Host, 0, "credit"},
		{"credits would help", stub.Refusal(429, "", "Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day"), fault.Transient, 0, "unlock"},
		{"a rate, MiniMax", stub.Answer{Body: []byte(`{"choices":null,"base_resp":{"status_code":1002,"status_msg":"rate limit"}}`)}, fault.Transient, 0, "rate limit"},
		{"no failure, MiniMax", stub.Answer{Body: []byte(`{"choices":[],"base_resp":{"status_code":0,"status_msg":"success"}}`)}, fault.Host, 3, "no choices"},
		{"conflict", stub.Refusal(409, "", "again"), fault.Transient, 0, "409"},
		{"empty error", stub.Answer{Status: 500, Body: []byte{}}, fault.Transient, 0, "500"},
		{"error of a bare text", stub.Answer{Status: 500, Body: []byte(`{"error":"no memory"}`)}, fault.Transient, 0, "no memory"},
		{"half an error", stub.Answer{Status: 500, Body: make([]byte, 9999), Fault: stub.Half}, fault.Transient, 0, "500"},
		{"no choices", stub.Answer{Body: []byte(`{"choices":[]}`)}, fault.Host, 3, "no choices"},
		{"no message", stub.Answer{Body: []byte(`{"choices":[{}]}`)}, fault.Transient, 3, "no message"},
		{"null message", stub.Answer{Body: []byte(`{"choices":[{"message":null}]}`)}, fault.Transient, 3, "no message"},
		{"error in a 200", stub.Answer{Body: []byte(`{"error":{"code":429,"message":"upstream"}}`)}, fault.Transient, 0, "upstream"},
		{"key refused in a 200", stub.Answer{Body: []byte(`{"error":{"code":401,"message":"no"}}`)}, fault.Host, 0, "OPENAI_API_KEY"},
		{"error in a choice", stub.Answer{Body: []byte(`{"choices":[{"error":{"code":502,"message":"cut"},"message":{"content":"ha"}}]}`)}, fault.Transient, 3, "cut"},
	} {
		_, err := newModel(t, stub.NewServer(t, tt.answer), nil).Generate(t.Context(), ask())
		if fault.KindOf(err) != tt.kind || llm.Lost(err) != tt.lost {
			t.Errorf("%s: %v is %v, %d calls may have been charged; want %v, %d", tt.name, err, fault.KindOf(err), llm.Lost(err), tt.kind, tt.lost)
		}
		if text := err.Error() + " " + fault.HintOf(err); !strings.Contains(text, tt.want) || !strings.Contains(text, "asking model m: ") {
			t.Errorf("%s: text %q, want %q in it", tt.name, text, tt.want)
		}
	}
}

func TestAnAddressWithoutAServerIsReportedInPlainWords(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	plain := httptest.NewServer(nil)
	defer plain.Close()
	proxy, err := url.Parse(gone.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		base  string
		proxy *url.URL
		want  string
	}{
		{gone.URL, nil, "asking model m: nothing answers at " + gone.URL + " (dial tcp " + gone.Listener.Addr().String() + ": connect: connection refused)"},
		{"https://nobody.invalid", proxy, "asking model m: the proxy on the way to https://nobody.invalid does not answer (proxyconnect tcp: dial tcp"},
		{"http://nobody.invalid", nil, "asking model m: there is no host nobody.invalid (dial tcp: lookup nobody.invalid: no such host)"},
		{strings.Replace(plain.URL, "http:", "https:", 1), nil, "answers over http, not https (http: server gave HTTP response to HTTPS client)"},
	} {
		cfg := endpoint.Config{Model: "m", BaseURL: c.base, APIKey: "k", HTTP: &http.Client{Transport: &http.Transport{
			Proxy: http.ProxyURL(c.proxy),
			DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
				if host, _, _ := net.SplitHostPort(addr); strings.HasSuffix(host, ".invalid") { // so that no name server is asked
					return nil, &net.OpError{Op: "dial", Net: network, Err: &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}}
				}
				return new(net.Dialer).DialContext(ctx, network, addr)
			},
		}}}
		m, err := openai.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Generate(t.Context(), ask())
		if fault.KindOf(err) != fault.Transient || llm.Lost(err) != 0 || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v (%v, %d lost), want %q, none lost", c.base, err, fault.KindOf(err), llm.Lost(err), c.want)
		}
	}
}

// again returns a request in the middle of a conversation.
func again() *llm.Request {
	r := ask()
	r.Messages = append(r.Messages, llm.Message{Role: llm.RoleAssistant, Parts: llm.Say("a")}, llm.Message{Role: llm.RoleUser, Parts: llm.Say("b")})
	return r
}

// openRouter returns an error that quotes the error of the provider behind OpenRouter.
func openRouter(code int, raw string) string {
	return fmt.Sprintf(`{"error":{"message":"Provider returned error","code":%d,"metadata":{"raw":%q,"provider_name":"Google"}},"user_id":"u"}`, code, raw)
}

// The bodies have the form, members and wording that the providers use.
var bodies = []struct {
	name   string
	status int
	body   string
	want   error // nil: an error that the conversation did not cause
	says   string
}{
	{
		"OpenAI", 400, `{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 8227 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`,
		llm.ErrContextLength, "8227",
	},
	{"OpenAI by its code alone", 400, `{"error":{"message":"no","type":"invalid_request_error","code":"context_length_exceeded"}}`, llm.ErrContextLength, "no"},
	{"OpenAI, one message too long", 400, `{"error":{"message":"Invalid 'messages[7].content': string too long. Expected a string with maximum length 1048576, but got a string with length 2000000 instead.","code":"string_above_max_length"}}`, llm.ErrContextLength, "messages[7]"},
	{"Anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 211180 tokens > 200000 maximum"},"request_id":"r"}`, llm.ErrContextLength, "211180"},
	{"Anthropic with room for the answer", 400, "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000\"}}", llm.ErrContextLength, "190000"},
	{"Anthropic, bytes", 413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, llm.ErrContextLength, "maximum size"},
	{"Anthropic behind OpenRouter", 413, openRouter(413, `{"type":"error","error":{"type":"invalid_request_error","message":"Prompt is too long"}}`), llm.ErrContextLength, "Provider returned error: Prompt is too long"},
	{"OpenRouter in a 200", 200, openRouter(400, `{"message":"Input is too long for requested model."}`), llm.ErrContextLength, "Input is too long"},
	{"OpenRouter itself", 400, `{"error":{"message":"This endpoint's maximum context length is 16384 tokens. However, you requested about 94307 tokens (94307 of text input). Please reduce the length of either one","code":400,"metadata":{"provider_name":null}}}`, llm.ErrContextLength, "94307"},
	{"vLLM", 400, `{"object":"error","message":"This model's maximum context length is 8192 tokens. However, you requested 9000 tokens","type":"BadRequestError","param":null,"code":400}`, llm.ErrContextLength, "9000"},
	{"SGLang", 400, `{"object":"error","message":"The input (9000 tokens) is longer than the model's context length","code":400}`, llm.ErrContextLength, "9000"},
	{"llama.cpp", 400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":4390,"n_ctx":4096}}`, llm.ErrContextLength, "available"},
	{"older llama.cpp", 500, `{"error":{"code":500,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"exceed_context_size_error"}}`, llm.ErrContextLength, "available"},
	{"Gemini, in a list", 400, `[{"error":{"code":400,"message":"The input token count (1100000) exceeds the maximum number of tokens allowed (1048575).","status":"INVALID_ARGUMENT"}}]`, llm.ErrContextLength, "1100000"},
	{"Zhipu", 400, `{"error":{"code":"1261","message":"Prompt exceeds max length"}}`, llm.ErrContextLength, "max length"},
	{"Moonshot", 400, `{"error":{"message":"Invalid request: Your request exceeded model token limit: 8192","type":"invalid_request_error"}}`, llm.ErrContextLength, "8192"},
	{"Mistral", 400, `{"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_prompt","code":"3051"}`, llm.ErrContextLength, "40000"},
	{"xAI", 400, `{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}`, llm.ErrContextLength, "537812"},
	{"Cerebras", 400, `{"message":"Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192","type":"invalid_request_error","code":"context_length_exceeded"}`, llm.ErrContextLength, "9000"},
	{"DashScope", 400, `{"error":{"code":"invalid_parameter_error","message":"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]","type":"invalid_request_error"}}`, llm.ErrContextLength, "129024"},
	{"llama.cpp with slots", 500, `{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}`, llm.ErrContextLength, "exceeded"},
	{"MiniMax in a 200", 200, `{"id":"x","choices":null,"base_resp":{"status_code":2013,"status_msg":"invalid params, context window exceeds limit"}}`, llm.ErrContextLength, "exceeds limit"},
	{"Vertex AI", 400, `{"error":{"code":400,"message":"Unable to submit request because the input token count is 1213232 but the model supports up to 1048576. Reduce the input token count and try again.","status":"INVALID_ARGUMENT"}}`, llm.ErrContextLength, "1213232"},
	{"SGLang, the newer", 400, `{"object":"error","message":"Input length (180000 tokens) exceeds the maximum allowed length (131067 tokens). Use a shorter input or enable --allow-auto-truncate.","code":400}`, llm.ErrContextLength, "180000"},
	{"TGI", 422, "{\"error\":\"Input validation error: `inputs` must have less than 4095 tokens. Given: 5000\",\"error_type\":\"validation\"}", llm.ErrContextLength, "4095"},
	{"TensorRT-LLM", 400, `{"object":"error","message":"The sum of prompt length (72417.0), query length (0) should not exceed max_num_tokens (69632)","code":400}`, llm.ErrContextLength, "72417"},
	{"Volcengine", 400, `{"error":{"code":"InvalidParameter","message":"Total tokens of image and text exceed max message tokens.","type":"BadRequest"}}`, llm.ErrContextLength, "message tokens"},
	{"SiliconFlow", 400, `{"code":20015,"message":"length of prompt_tokens (68957) must be less than max_seq_len (65536).","data":null}`, llm.ErrContextLength, "68957"},
	{"Perplexity", 400, `{"error":{"message":"The total length of all messages is too long.","type":"too_many_prompt_tokens","code":400}}`, llm.ErrContextLength, "all messages"},
	{"Copilot", 400, `{"error":{"message":"prompt token count of 168929 exceeds the limit of 168000","code":"model_max_prompt_tokens_exceeded"}}`, llm.ErrContextLength, "168929"},
	{"GitHub Models", 413, `{"error":{"code":"tokens_limit_reached","message":"Request body too large for gpt-4o model. Max size: 8000 tokens."}}`, llm.ErrContextLength, "8000"},
	{"Mistral, in short", 400, `{"object":"error","message":"Prompt 262280 > 262144 maximum context length","code":"3051"}`, llm.ErrContextLength, "262280"},
	{"Fireworks", 400, `{"error":{"object":"error","type":"invalid_request_error","message":"The prompt is too long: 1000008, model maximum context length: 131071"}}`, llm.ErrContextLength, "1000008"},
	{"Poolside", 400, `{"error":{"code":400,"message":"Input length 264373 exceeds the maximum allowed input length of 262112 tokens.","type":"Bad Request"}}`, llm.ErrContextLength, "264373"},
	{"Cohere", 400, `{"message":"too many tokens: size limit exceeded by 713295 tokens. Try using shorter or fewer inputs."}`, llm.ErrContextLength, "713295"},
	{"Baidu", 400, `{"error":{"code":"tokens_too_long","message":"Prompt tokens too long","type":"invalid_request_error"}}`, llm.ErrContextLength, "too long"},
	{"LiteLLM", 400, `{"error":{"message":"litellm.ContextWindowExceededError: litellm.BadRequestError: boom","type":null,"param":null,"code":"400"}}`, llm.ErrContextLength, "boom"},

	{
		"OpenAI's usage policy", 400, `{"error":{"message":"Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again with a different prompt","type":"invalid_request_error","param":null,"code":"invalid_prompt"}}`,
		llm.ErrContentPolicy, "flagged",
	},
	{"OpenAI's code", 400, `{"error":{"message":"Your request was rejected as a result of our safety system.","type":"invalid_request_error","code":"content_policy_violation"}}`, llm.ErrContentPolicy, "rejected"},
	{"OpenAI on security", 400, `{"error":{"message":"This content was flagged for possible cybersecurity risk.","type":"invalid_request_error","code":"cyber_policy"}}`, llm.ErrContentPolicy, "flagged"},
	{"Azure", 400, `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation","content_filter_result":{"jailbreak":{"filtered":true,"detected":true}}}}}`, llm.ErrContentPolicy, "filtered"},
	{"Azure by its inner code alone", 400, `{"error":{"message":"no","type":null,"innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, llm.ErrContentPolicy, "no"},
	{"Anthropic's output", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"},"request_id":"r"}`, llm.ErrContentPolicy, "Output blocked"},
	{"Anthropic's output behind OpenRouter", 400, openRouter(400, `{"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}`), llm.ErrContentPolicy, "Output blocked"},
	{"OpenRouter's moderation", 403, `{"error":{"code":403,"message":"no","metadata":{"reasons":["self-harm"],"flagged_input":"the...end","provider_name":"OpenAI","model_slug":"m"}}}`, llm.ErrContentPolicy, "no"},
	{"OpenRouter's moderation in words", 403, `{"error":{"code":403,"message":"Your chosen model requires moderation and your input was flagged"}}`, llm.ErrContentPolicy, "flagged"},
	{"Gemini behind OpenRouter, in a choice", 200, `{"choices":[{"error":{"code":403,"message":"Gemini blocked it: PROHIBITED_CONTENT"},"message":{"content":""}}]}`, llm.ErrContentPolicy, "PROHIBITED"},
	{"DashScope's inspection", 400, `{"error":{"code":"data_inspection_failed","param":null,"message":"Input data may contain inappropriate content.","type":"data_inspection_failed"},"request_id":"r"}`, llm.ErrContentPolicy, "inappropriate"},
	{"DeepSeek", 400, `{"error":{"message":"Content Exists Risk","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`, llm.ErrContentPolicy, "Risk"},
	{"LiteLLM's", 400, `{"error":{"message":"litellm.ContentPolicyViolationError: AzureException - boom","type":null,"param":null,"code":"400"}}`, llm.ErrContentPolicy, "boom"},

	{"a parameter called so", 400, `{"error":{"message":"Unknown parameter: 'context_length'.","type":"invalid_request_error","param":"context_length","code":"unknown_parameter"}}`, nil, "Unknown"},
	{"a parameter that is not permitted", 422, `{"error":{"message":"Extra inputs are not permitted, field: 'content_filter'","type":"invalid_request_error"}}`, nil, "Extra"},
	{"a request that is bad", 400, `{"error":{"message":"tool_use ids must be unique","type":"invalid_request_error"}}`, nil, "unique"},
	{"a server in between that takes no more bytes", 413, `<html><body>413 Request Entity Too Large</body></html>`, nil, "Entity Too Large"},
	{"a page of a proxy with a policy of its own", 400, `<html><h1>Access denied</h1>This request was flagged: it is blocked by the company's internet usage policy.</html>`, nil, "Access denied"},
	{"field by field", 422, `{"detail":[{"msg":"field required"}]}`, nil, "field required"},
	{"a tool that is described at length", 400, `{"error":{"message":"Invalid schema for function 'bash': maximum length of description is 1024","code":"invalid_function_parameters"}}`, nil, "1024"},
	{"a name that is too long", 400, `{"error":{"message":"tools[0].function.name exceeds maximum length of 64","type":"invalid_request_error"}}`, nil, "64"},
	{"room for the answer", 400, `{"error":{"message":"max_tokens is too large: 100000. This model supports at most 16384 completion tokens","param":"max_tokens"}}`, nil, "16384"},
	{"a quoted conversation", 400, `{"error":{"message":"invalid tool result: 'your account has an insufficient balance'"}}`, nil, "balance"},
	{"a quoted input", 422, `{"detail":[{"type":"string_type","loc":["body","messages",3,"content"],"msg":"Input should be a valid string","input":"def f(context_size): content_filter"}]}`, nil, "valid string"},
	{"a quoted input, in Python's words", 400, `{"object":"error","message":"1 validation error for Request: Input should be a valid string [type=string_type, input_value='def f(context_size)', input_type=dict]","code":400}`, nil, "valid string"},
	{"a quoted text at length", 400, `{"error":{"message":"the tool result cannot be read: ` + strings.Repeat("x ", 100) + ` max_seq_len"}}`, nil, "tool result"},
	{"a quoted number", 400, `{"error":{"message":"invalid line 1261 of a tool result"}}`, nil, "1261"},
	{"an id that is too long", 400, `{"error":{"message":"Invalid 'messages[3].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 64 instead.","code":"string_above_max_length"}}`, nil, "tool_calls"},
	{"a bare text", 400, `{"error":"no such thing"}`, nil, "no such thing"},
	{"Gemini's other errors", 400, `[{"error":{"code":400,"message":"Request contains an invalid argument.","status":"INVALID_ARGUMENT"}}]`, nil, "invalid argument"},
}

func TestRefusalsOfTheConversationAreDistinguished(t *testing.T) {
	for _, c := range bodies {
		t.Run(c.name, func(t *testing.T) {
			s := stub.NewServer(t, stub.Answer{Status: c.status, Body: []byte(c.body)})
			_, err := newModel(t, s, nil).Generate(t.Context(), again())
			if fault.KindOf(err) != fault.Instance || len(s.Requests()) != 1 {
				t.Fatalf("error %v (%v) after %d requests; want an Instance fault, 1 request",
					err, fault.KindOf(err), len(s.Requests()))
			}
			for _, cause := range []error{llm.ErrContextLength, llm.ErrContentPolicy} {
				if errors.Is(err, cause) != (cause == c.want) {
					t.Errorf("errors.Is(%v, %q) = %v, want %v",
						err, cause, cause != c.want, cause == c.want)
				}
			}
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("%q is not in %v; want with %q", c.says, err, c.says)
			}
		})
	}
}

// Text that llama.cpp and others quote in a server error does not count as their own words about the length.
func TestAnErrorOfTheServerIsOnlyAboutTheLengthInLlamaCppsWords(t *testing.T) {
	for text, tooLong := range map[string]bool{
		"Failed to parse input at pos 12: <tool_call>max_seq_len=2048</tool_call>": false,
		"CUDA error: out of memory, context_length 8192":                           false,
		"request (66202 tokens) exceeds the available context size (65536 tokens)": true,
		"Context size has been exceeded.":                                          true,
		"input is too large to process. increase the physical batch size":          true,
	} {
		body, _ := json.Marshal(map[string]any{"error": map[string]any{"code": 500, "message": text, "type": "server_error"}})
		_, err := newModel(t, stub.NewServer(t, stub.Answer{Status: 500, Body: body}), nil).Generate(t.Context(), again())
		if errors.Is(err, llm.ErrContextLength) != tooLong || (fault.KindOf(err) == fault.Instance) != tooLong {
			t.Errorf("%s: %v (%v); too long: want %v", text, err, fault.KindOf(err), tooLong)
		}
	}
}

// A request that alone is above the account's limit is not retried, and is not a result.
func TestARequestAboveTheAccountsLimitIsNotWaitedFor(t *testing.T) {
	const one = "Request too large for m in organization org-1 on tokens per min (TPM): Limit 30000, Requested 36055. The input or output tokens must be reduced in order to run successfully."
	for _, tt := range []struct {
		status int
		text   string
		above  bool
	}{
		{429, one, true},
		{413, "Request too large for model `m` in organization `org` service tier `on_demand` on tokens per minute (TPM): Limit 6,000, Requested 7,500, please reduce your message size", true},
		{429, "Rate limit reached for m on tokens per min (TPM): Limit 30000, Used 29000, Requested 36055. Please try again in 6s.", true},
		{429, "Rate limit reached for m on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 2s.", false},
		{429, "Extra usage is required for long context requests.", true},
		{429, "Rate limit reached on requests per min (RPM): Limit 500, Used 500, Requested 1.", false},
		{500, one, false},
	} {
		_, err := newModel(t, stub.NewServer(t, stub.Refusal(tt.status, "rate_limit_exceeded", tt.text)), nil).Generate(t.Context(), again())
		if errors.Is(err, llm.ErrAccountLimit) != tt.above || errors.Is(err, llm.ErrContextLength) || (fault.KindOf(err) == fault.Instance) != tt.above || llm.Lost(err) != 0 {
			t.Errorf("%d %s: %v (%v); above the account's limit: want %v", tt.status, tt.text, err, fault.KindOf(err), tt.above)
		}
	}
}

func TestRefusalsOfTheAccountAreHostFaults(t *testing.T) {
	for _, text := range []string{
		"Your account has been flagged for violations of our usage policies.",
		"Organization org-1 was suspended: content policy.",
		"Your access was terminated due to violation of our usage policy.",
		"You do not have access to the model: content policy of your organization.",
	} {
		_, err := newModel(t, stub.NewServer(t, stub.Refusal(403, "", text)), nil).Generate(t.Context(), again())
		if fault.KindOf(err) != fault.Host || errors.Is(err, llm.ErrContentPolicy) {
			t.Errorf("%v is %v; want a Host fault, an error other than %v", err, fault.KindOf(err), llm.ErrContentPolicy)
		}
	}
}

func TestAFilteredAnswerIsReturnedAsAnAnswer(t *testing.T) {
	for _, body := range []string{
		`{"choices":[{"index":0,"finish_reason":"content_filter: PROHIBITED_CONTENT"}],"usage":{"prompt_tokens":10,"cost":0.5}}`,
		`{"choices":[{"finish_reason":"content_filter","message":{"role":"assistant","content":null}}],"usage":{"prompt_tokens":10,"cost":0.5}}`,
	} {
		s := stub.NewServer(t, stub.Answer{Body: []byte(body)})
		resp, err := newModel(t, s, nil).Generate(t.Context(), ask())
		if err != nil || !resp.Filtered() || resp.Usage.Input != 10 || resp.Cost != 0.5 || string(resp.Raw) != body || len(s.Requests()) != 1 {
			t.Errorf("%s: got %+v, %v; want filtered true, input 10, cost 0.5, raw %v, 1 request, no error",
				body, resp, err, body)
		}
	}
}

// patient allows more tries than a wrong address would get.
func patient(c *endpoint.Config) {
	c.Retry = fast
	c.Retry.Tries = 6
}

func TestAWrongAddressFailsAfterFewTries(t *testing.T) {
	page := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<!doctype html><title>welcome</title>"))
	}
	elsewhere := httptest.NewServer(http.HandlerFunc(page))
	defer elsewhere.Close()
	for _, c := range []struct {
		name  string
		serve http.HandlerFunc
		asked int64
		want  string // in the error's text or hint
	}{
		{"a web page", page, 3, "/v1"},
		{"JSON of another kind", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"status":"ok"}`))
		}, 3, "no choices"},
		{"a redirect to another origin", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
		}, 1, "redirects"},
		{"a redirect that loses the body", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/login" {
				page(w, r)
				return
			}
			http.Redirect(w, r, "/login", http.StatusFound)
		}, 2, "redirects"},
		{"a redirect without an address", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMovedPermanently) }, 1, "301"},
		{"nothing modified", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) }, 1, "304"},
		{"a redirect in a circle", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusPermanentRedirect)
		}, 10, "in a circle"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var asked atomic.Int64
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				c.serve(w, r)
			}))
			defer s.Close()
			cfg := endpoint.Config{Model: "m", BaseURL: s.URL, APIKey: planted}
			patient(&cfg)
			m := compose(t, cfg)
			_, err := m.Generate(t.Context(), ask())
			text := ""
			if err != nil {
				text = err.Error() + " " + fault.HintOf(err)
			}
			if fault.KindOf(err) != fault.Host || asked.Load() != c.asked ||
				!strings.Contains(text, c.want) || !strings.Contains(text, "OPENAI_BASE_URL, now "+s.URL) {
				t.Errorf("%q (%v) after %d requests, want a Host fault with %q after %d", text, fault.KindOf(err), asked.Load(), c.want, c.asked)
			}
		})
	}
}

func TestAServerThatNeverAnsweredFailsAfterFewTries(t *testing.T) {
	for _, answers := range []int{0, 1} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"choices":[{"message":{"role":"assistant","content":"ok"}}]}`))
		}))
		cfg := endpoint.Config{Model: "m", BaseURL: s.URL}
		patient(&cfg)
		var dials atomic.Int64
		cfg.HTTP = &http.Client{Transport: &http.Transport{
			DisableKeepAlives: true,
			DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
				dials.Add(1)
				return new(net.Dialer).DialContext(ctx, network, addr)
			},
		}}
		m := compose(t, cfg)
		for range answers {
			if _, err := m.Generate(t.Context(), ask()); err != nil {
				t.Fatal(err)
			}
		}
		s.Close()
		dials.Store(0)
		_, err := m.Generate(t.Context(), ask())
		kind, want := fault.Host, int64(3)
		if answers > 0 {
			kind, want = fault.Transient, 6
		}
		if fault.KindOf(err) != kind || dials.Load() != want {
			t.Errorf("after %d answers: %v (%v) after %d dials, want %v after %d", answers, err, fault.KindOf(err), dials.Load(), kind, want)
		}
	}
}
