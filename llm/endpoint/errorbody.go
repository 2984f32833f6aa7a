package endpoint

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"batch.example/batch/internal/lazy"
	"batch.example/batch/llm"
)

// tooLong matches how providers say that the conversation does not fit; only
// OpenAI and llama.cpp have a code for it.
var tooLong = lazy.Regexp(`(?i)context[ _-]?(length|window|size)|exceed\w* (the )?(model's )?context limit|` +
	`maximum (context|model|input|prompt) length|(prompt|input|request) is too long|too many (input )?tokens|` +
	`exceed\w* .{0,40}(max_model_len|token limit|input length|max(imum)? length|maximum number of tokens)|` +
	`reduce the length of (the|your|either)|max_new_tokens. must be|range of input length|` +
	`messages\[\d+\].{0,60}string too long|context_length_exceeded|exceed_context_size|request_too_large|ContextWindowExceeded`)

// unwanted matches how a provider refuses what is in this conversation.
var unwanted = lazy.Regexp(`(?i)content[ _-]?(filter|polic|moderation|management)|(usage|safety) polic|safety system|` +
	`(input|prompt|content|request|message|chat|response|output)s?\b.{0,40}\bflagged|flagged_input|requires moderation|` +
	`inappropriate content|content exists risk|prohibited[ _]content|data_?inspection_?failed|` +
	`ContentPolicyViolation|ResponsibleAIPolicyViolation|sensitive_words_detected`)

// ofAccount matches what concerns the account, and so every conversation.
var ofAccount = lazy.Regexp(`(?i)\b(accounts?|organi[sz]ations?|api[ _-]?keys?|your access)\b.{0,60}\b` +
	`(flagged|disabled|deactivated|suspended|terminated|banned|blocked)|(no|not have|denied) access|access to (the|this) model`)

// ofParameter matches a complaint about a member of the request, which may
// well be called context_length.
var ofParameter = lazy.Regexp(`(?i)(unknown|unrecognized|unsupported|unexpected) .{0,20}(parameter|argument|field|keyword|value)|` +
	`extra inputs are not permitted|(parameter|argument|field)s?\b.{0,60}(not|un)[ -]?(supported|permitted|recognized)`)

// ofItem matches how OpenAI says, with a 404, that this conversation refers to something
// that the server has not kept.
var ofItem = lazy.Regexp(`Item with id .{1,100} not found`)

// noCredit matches the codes of an account that must be paid first.
var noCredit = lazy.Regexp(`insufficient_quota|billing_hard_limit_reached|billing_not_active|billing_error`)

// lowCredit matches how Anthropic says so, with the code of any other bad request.
var lowCredit = lazy.Regexp(`(?i)credit balance is too low`)

// statuses maps types of errors, inside of a 200, to the HTTP status that fits: Anthropic's
// types, and Bedrock's in a stream.
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
}

// errorBody is the body of a provider's error answer, in any of its forms.
type errorBody struct {
	text string
	code string // all its codes and types
	http int    // status that a proxy puts into the body of a 200
	page bool   // it is not JSON: it comes from a proxy, not from the provider

	after time.Duration // that Google asks to wait; 0 if it does not
}

// status is the HTTP status that the body of a 200 names or implies; 200 without one.
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

// readErrorBody reads {"error":{...}}, its members without the object around them, a
// list of such (Gemini), an error that is a bare text (Ollama), and what
// OpenRouter quotes of the provider behind it.
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
	code := cmp.Or(word(object["code"]), string(object["code"]))
	inner := Members(object["innererror"]) // Azure's
	s := errorBody{
		text: cmp.Or(word(object["message"]), word(raw), string(body)),
		code: strings.Join([]string{code, word(object["type"]), word(inner["code"]), word(object["status"]), reasons(object["details"])}, " "),
	}
	s.http, _ = strconv.Atoi(code)
	s.after = retryInfo(object["details"])
	s.page = !json.Valid(body)
	return s
}

// errorObject returns the value that describes the error, or the body's own where
// there is none around it.
func errorObject(body []byte) json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	if inner := Members(body)["error"]; IsSet(inner) {
		return inner
	}
	return body
}

// word returns the content of a JSON string, and nothing for any other value.
func word(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s)
	return s
}

// typed puts what the conversation itself caused into the chain of err.
func (s errorBody) typed(status int, err error) error {
	switch {
	case s.tooLong(status):
		return fmt.Errorf("%w: %w", llm.ErrContextLength, err)
	case s.unwanted(status):
		return fmt.Errorf("%w: %w", llm.ErrContentPolicy, err)
	}
	return err
}

func (s errorBody) tooLong(status int) bool {
	if strings.Contains(s.code, "exceed_context_size") {
		return true // llama.cpp says it with a 500 too
	}
	switch status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return tooLong().MatchString(s.code+" "+s.text) && !ofParameter().MatchString(s.text)
	}
	return false
}

func (s errorBody) unwanted(status int) bool {
	if s.page {
		return false
	}
	switch status {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusUnprocessableEntity, http.StatusUnavailableForLegalReasons:
		return unwanted().MatchString(s.code+" "+s.text) && !ofAccount().MatchString(s.text) && !ofParameter().MatchString(s.text)
	}
	return false
}
