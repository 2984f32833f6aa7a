package endpoint

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
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
