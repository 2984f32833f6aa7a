package endpoint

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"batch.example/batch/internal/lazy"
	"batch.example/batch/llm"
)

// unwanted matches refusals of this conversation's content.
var unwanted = lazy.Regexp(`(?i)content[ _-]?(filter|polic|moderation|management)|(usage|safety) polic|safety system|` +
	`(input|prompt|content|request|message|chat|response|output)s?\b.{0,40}\bflagged|flagged_input|requires moderation|` +
	`inappropriate content|content exists risk|prohibited[ _]content|data_?inspection_?failed|` +
	`ContentPolicyViolation|ResponsibleAIPolicyViolation|sensitive_words_detected|new_sensitive`)

// ofAccount matches refusals that concern the account, and so every conversation.
var ofAccount = lazy.Regexp(`(?i)\b(accounts?|organi[sz]ations?|api[ _-]?keys?|your access)\b.{0,60}\b` +
	`(flagged|disabled|deactivated|suspended|terminated|banned|blocked)|(no|not have|denied) access|access to (the|this) model`)

// ofParameter matches a complaint about a member of the request, which may itself be called context_length.
var ofParameter = lazy.Regexp(`(?i)(unknown|unrecognized|unsupported|unexpected) .{0,20}(parameter|argument|field|keyword|value)|` +
	`extra inputs are not permitted|(parameter|argument|field)s?\b.{0,60}(not|un)[ -]?(supported|permitted|recognized)`)

// ofItem matches OpenAI's words, with a 404, for a conversation that refers to an item that the server has
// not kept.
var ofItem = lazy.Regexp(`Item with id .{1,100} not found`)

// statuses maps error types inside a 200 to the matching HTTP status: Anthropic's types, Bedrock's in a
// stream, and MiniMax's codes (platform.minimax.io, errorcode).
var statuses = map[string]int{
	"invalid_request_error": http.StatusBadRequest,
	"authentication_error":  http.StatusUnauthorized,
	"billing_error":         http.StatusPaymentRequired,
	"permission_error":      http.StatusForbidden,
	"not_found_error":       http.StatusNotFound,
	"request_too_large":     http.StatusRequestEntityTooLarge,
	"rate_limit_error":      http.StatusTooManyRequests,
	"api_error":             http.StatusInternalServerError,
	"timeout_error":         http.StatusGatewayTimeout,
	"overloaded_error":      529,
	"throttlingException":   http.StatusTooManyRequests,
	"validationException":   http.StatusBadRequest,
	"1002":                  http.StatusTooManyRequests,
	"1004":                  http.StatusUnauthorized,
	"1008":                  http.StatusPaymentRequired,
	"1026":                  http.StatusBadRequest, // content
	"1027":                  http.StatusBadRequest, // content
	"1039":                  http.StatusTooManyRequests,
	"1041":                  http.StatusTooManyRequests,
	"2013":                  http.StatusBadRequest,
	"2045":                  http.StatusTooManyRequests,
	"2049":                  http.StatusUnauthorized,
	"2056":                  http.StatusTooManyRequests,
}

// errorBody is the content of a provider's error answer, in any of its forms.
type errorBody struct {
	text string
	code string // all its codes and types
	http int    // status that a proxy puts into the body of a 200
	page bool   // not JSON: from a proxy, not from the provider

	tokens int64 // Google's limit of tokens per minute; 0 if it names none

	after time.Duration // Google's requested wait; 0 if it names none
}

// status returns the HTTP status that the body of a 200 names or implies; 200 if it has no error.
func (s errorBody) status() int {
	if s.http >= 400 && s.http < 600 {
		return s.http
	}
	for code := range strings.FieldsSeq(s.code) {
		if status, ok := statuses[code]; ok {
			return status
		}
	}
	return http.StatusOK
}

// readErrorBody reads {"error":{...}}, its members without the object around them, a list of such objects
// (Gemini), an error that is plain text (Ollama), and the quoted error of the provider behind OpenRouter.
func readErrorBody(body []byte) errorBody {
	s := readError(body)
	meta := Members(Members(errorObject(body))["metadata"])
	if quoted := meta["raw"]; IsSet(quoted) {
		inner := readError([]byte(cmp.Or(word(quoted), string(quoted))))
		s.text, s.code = s.text+": "+inner.text, s.code+" "+inner.code
	}
	if IsSet(meta["flagged_input"]) {
		s.code += " flagged_input"
	}
	return s
}

func readError(body []byte) errorBody {
	raw := errorObject(body)
	object := Members(raw)
	code := strings.Trim(cmp.Or(Word(object["code"]), Word(object["status_code"]), Word(object["error_code"])), " ")
	inner := Members(object["innererror"]) // Azure's
	s := errorBody{
		text: cmp.Or(word(object["message"]), word(object["status_msg"]), word(object["error_msg"]), word(raw), string(body)),
		code: strings.Join([]string{code, word(object["type"]), word(inner["code"]), word(object["status"]), reasons(object["details"])}, " "),
	}
	s.http, _ = strconv.Atoi(code)
	s.after, s.tokens = retryInfo(object["details"]), tokenQuota(object["details"])
	s.page = !json.Valid(body)
	return s
}

// errorObject returns the object that describes the error: the member error if there is one, otherwise the
// whole body.
func errorObject(body []byte) json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	if inner := Failure(Members(body)); inner != nil {
		return inner
	}
	return body
}

// Failure returns the member of an answer, or of a piece of it, that reports a failure of the provider:
// error, or MiniMax's base_resp, whose code comes with every reply. Nil means no failure.
func Failure(members map[string]json.RawMessage) json.RawMessage {
	if failed := members["error"]; IsError(failed) {
		return failed
	}
	if base := members["base_resp"]; Tokens(Members(base)["status_code"]) > 0 {
		return base
	}
	return nil
}

// word returns the content of a JSON string, "" for any other value.
func word(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s)
	return s
}

// typed adds the typed cause of a failure due to the conversation itself to the chain of err. Answer is the
// number of tokens that the request reserves for the answer.
func (s errorBody) typed(status int, answer int64, err error) error {
	switch {
	case s.aboveAccount(status):
		return fmt.Errorf("%w: %w", llm.ErrAccountLimit, err)
	case s.tooLong(status):
		return fmt.Errorf("%w: %w", llm.ErrContextLength, err)
	case s.unwanted(status):
		return fmt.Errorf("%w: %w", llm.ErrContentPolicy, err)
	case slices.Contains(unclear, status):
		return &llm.Unclear{Answer: answer, Err: err}
	}
	return err
}

// unclear are the statuses that may also mean that the conversation is too long.
var unclear = []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity}

// quoted matches the place where a validator begins to quote the request: a conversation about language
// models may contain the words of any refusal.
var quoted = lazy.Regexp(`['"]input['"]\s*:|\binput_value=`)

// maxOwn is the length of a refusal's beginning that has only the provider's own words, in bytes. The rest
// may be quoted.
const maxOwn = 200

// own returns the part of a refusal in the provider's own words.
func (s errorBody) own() string {
	text := s.text[:min(len(s.text), maxOwn)]
	if at := quoted().FindStringIndex(text); at != nil {
		text = text[:at[0]]
	}
	return text
}

// tooLong reports whether a refusal says that the conversation does not fit. A server error may quote logs
// and replies, so that only llama.cpp's sentences count there.
func (s errorBody) tooLong(status int) bool {
	if status == http.StatusInternalServerError {
		return strings.Contains(s.code, "exceed_context_size_error") || ofLlama().MatchString(s.text)
	}
	return slices.Contains(unclear, status) && (tooLongCode().MatchString(s.code) || tooLong().MatchString(s.code+" "+s.own())) && !ofParameter().MatchString(s.text)
}

// numbers matches the comparison in refusals of OpenAI and Groq (with 413): "Limit 30000, Requested 36055".
var numbers = lazy.Regexp(`(?i)\blimit:? (\d+)\b.{0,60}\brequested:? (\d+)`)

// aboveAccount reports whether this request alone is above the account's limit.
func (s errorBody) aboveAccount(status int) bool {
	if status != http.StatusTooManyRequests && status != http.StatusRequestEntityTooLarge {
		return false
	}
	m := numbers().FindStringSubmatch(strings.ReplaceAll(s.text, ",", ""))
	if m == nil {
		return strings.HasPrefix(s.text, "Request too large for ") || strings.Contains(s.text, "required for long context") // the latter is Anthropic's
	}
	limit, _ := strconv.ParseInt(m[1], 10, 64)
	asked, _ := strconv.ParseInt(m[2], 10, 64)
	return asked > limit
}

// unpaid reports whether the account must be paid first. A refusal of a request's content may quote that
// content, so that its words prove nothing, except Anthropic's. Nor do the words of a refusal after which a
// wait helps; waits says that the provider named a time.
func (s errorBody) unpaid(status int, waits bool) bool {
	switch {
	case status == http.StatusPaymentRequired, noCredit().MatchString(s.code):
		return true
	case status == http.StatusBadRequest:
		return strings.HasPrefix(s.text, "Your credit balance is too low") || strings.HasPrefix(s.text, "You have reached your specified")
	case s.page, status == http.StatusUnprocessableEntity, status >= 500, status == http.StatusTooManyRequests && (waits || renewed().MatchString(s.text)):
		return false
	}
	return lowCredit().MatchString(s.text)
}

func (s errorBody) unwanted(status int) bool {
	if s.page {
		return false
	}
	switch status {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusUnprocessableEntity, http.StatusUnavailableForLegalReasons:
		return unwanted().MatchString(s.code+" "+s.own()) && !ofAccount().MatchString(s.text) && !ofParameter().MatchString(s.text)
	}
	return false
}

// ofKey matches Google's codes, with a 400, for a key that cannot be used.
var ofKey = lazy.Regexp(`\bAPI_KEY_[A-Z_]+\b`)

// ofPlace matches Google's words for a key that cannot be used from this place, or only with billing. Other
// refusals have the same code.
var ofPlace = lazy.Regexp(`(?i)location is not supported|free tier|billing`)

// refusesKey reports whether a 400 is about the key.
func (s errorBody) refusesKey() bool {
	return ofKey().MatchString(s.code) || strings.Contains(s.code, "FAILED_PRECONDITION") && ofPlace().MatchString(s.text)
}

// ofDay matches Google's names of quotas that are renewed once a day.
var ofDay = lazy.Regexp(`PerDay`)

// reasons returns the codes in the details of Google's errors: the reasons, and the exceeded quotas.
func reasons(details json.RawMessage) (codes string) {
	var list []struct {
		Reason     string `json:"reason"`
		Violations []struct {
			QuotaID string `json:"quotaId"`
		} `json:"violations"`
	}
	if json.Unmarshal(details, &list) != nil {
		return ""
	}
	for _, d := range list {
		codes += " " + d.Reason
		for _, v := range d.Violations {
			codes += " " + v.QuotaID
		}
	}
	return codes
}

// phrase is a provider's wording, and its source.
type phrase struct{ source, pattern string }

// phrases returns a function that compiles a table's patterns into one expression, at its first call.
func phrases(table ...phrase) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp {
		patterns := make([]string, len(table))
		for i, p := range table {
			patterns[i] = p.pattern
		}
		return regexp.MustCompile("(?i)" + strings.Join(patterns, "|"))
	})
}

// tooLong matches the providers' words for a conversation that does not fit. Only some have a code. The words
// are from their pages on errors and from issues of their clients: BerriAI/litellm
// (exception_mapping_utils.py, 10793, 15968, 18282, 21647), badlogic/pi-mono (overflow.ts).
var tooLong = phrases(
	phrase{"OpenAI, DeepSeek, MiniMax 2013, LM Studio, llama.cpp", `context[ _-]?(length|window|size)|exceed_context_size|context limit`},
	phrase{"OpenAI, of one message", `messages\[\d+\]\.content\b.{0,40}string too long`},
	phrase{"Azure: litellm 15968", `input tokens exceed`},
	phrase{"Anthropic: docs.claude.com, errors; Fireworks, Bedrock, Ollama, Replicate", `(prompt|input|request)( is)? too (long|large for)|request_too_large`},
	phrase{"Gemini: litellm 18282; Vertex AI", `input token count .{0,60}(exceed|model (only )?supports)`},
	phrase{"vLLM, OpenRouter, xAI, Mistral", `max(imum)? (context|model|input|prompt|sequence) length|too large for model`},
	phrase{"vLLM, TensorRT-LLM, SiliconFlow 20015: langgenius/dify 19394", `max_(model|seq|input)_len|max_num_tokens`},
	phrase{"SGLang: litellm 10793, tokenizer_manager.py; Poolside", `longer than the model|(input|prompt) length .{0,40}exceed`},
	phrase{"TGI: router/src/validation.rs", `inputs. (tokens \+|must have less)|max_new_tokens. must be`},
	phrase{"Groq, Cerebras", `reduce the length of (the|your|either)|current length is \d+ while limit`},
	phrase{"Cohere, Bedrock", `too many (input )?tokens|input tokens exceeded`},
	phrase{"Volcengine Ark", `exceed max message tokens`},
	phrase{"Moonshot: platform.moonshot.cn, errors", `exceeded model token limit`},
	phrase{"Perplexity: litellm 21647", `length of all messages|too_many_prompt_tokens`},
	phrase{"GitHub Copilot, GitHub Models", `prompt token count .{0,40}exceed|max_prompt_tokens_exceeded|tokens_limit_reached`},
	phrase{"Zhipu; Baidu: cloud.baidu.com, error codes", `prompt ?超长|tokens too long|(tokens|characters)_too_long`},
	phrase{"DashScope: help.aliyun.com, model-studio/error-code", `range of input length`},
	phrase{"servers alike", `(prompt|input|tokens?|messages|conversation|request)\b.{0,40}exceed\w* .{0,40}(token limit|input length|max(imum)? length|maximum (allowed length|number of tokens)|maximum context)`},
	phrase{"LiteLLM's proxy", `ContextWindowExceeded`},
)

// tooLongCode matches numeric codes for it.
var tooLongCode = phrases(phrase{"Zhipu: docs.bigmodel.cn, api-code", `(^| )1261( |$)`})

// ofLlama matches the words of llama.cpp (tools/server) for it, also with a 500.
var ofLlama = phrases(phrase{"llama.cpp", `^((the )?request( \(\d+ tokens\))? exceeds the available context size|context size has been exceeded|input is too large to process)`})

// noCredit matches the codes for an account that must be paid first.
var noCredit = phrases(
	phrase{"OpenAI, Anthropic", `insufficient_quota|billing_hard_limit_reached|billing_not_active|billing_error`},
	phrase{"Moonshot: platform.moonshot.cn, errors", `exceeded_current_quota_error`},
	phrase{"Zhipu: docs.bigmodel.cn, api-code (1309 is an expired plan)", `(^| )(1113|1309)( |$)`},
	phrase{"MiniMax: platform.minimax.io, errorcode", `(^| )1008( |$)`},
	phrase{"DashScope: help.aliyun.com, model-studio/error-code", `arrearage`},
	phrase{"Volcengine Ark; SiliconFlow", `account_?overdue|(^| )30001( |$)`},
	phrase{"LiteLLM's proxy", `budget_exceeded`},
	phrase{"Novita; new-api and other gateways", `not_enough_balance|insufficient_(user_quota|balance|credits?|funds)`},
)

// renewed matches the words for credits that are renewed by themselves, with the status of a rate limit.
var renewed = phrases(phrase{"gateways with credits of a minute or a window", `\b(per|this|next|each) (second|minute|hour|window)\b`})

// lowCredit matches the providers' words for it, with the code of another refusal. A refusal may quote the
// conversation, see [errorBody.unpaid].
var lowCredit = phrases(
	phrase{"Anthropic, Gemini (prepayment credits are depleted)", `\b(balance|credits?|funds)\b.{0,40}\b(too low|depleted|exhausted|used up|insufficient|not enough|overdue)`},
	phrase{"Zhipu, Moonshot, MiniMax, SiliconFlow", `\b(insufficient|not enough|no|negative|overdue|out of)( \w+){0,2} (balance|credits?|funds)\b|欠费|余额不足|额度不足`},
	phrase{"xAI: docs.x.ai", `used all (\w+ )?credits|spending (limit|cap)`},
	phrase{"DashScope, Fireworks", `account is in good standing|past invoices`},
)
