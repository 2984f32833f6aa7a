package stub

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"batch.example/batch/llm"
)

// Codes of an [ErrorBody] that every protocol sends in its own words and, if they differ, with its own
// status.
const (
	CodeTooLong = "context_length_exceeded"
	CodeFlagged = "content_policy_violation"
	CodeNoQuota = "insufficient_quota"
)

// Status returns an answer with an error status in the provider's usual words; 502 returns a proxy's page.
func Status(status int) Answer { return Answer{Status: status} }

// TooLong returns the refusal of a conversation that is longer than the model's context.
func TooLong() Answer { return Answer{Status: 400, Error: ErrorBody{Code: CodeTooLong}} }

// Flagged returns the refusal of a conversation by the provider's content policy.
func Flagged() Answer { return Answer{Status: 400, Error: ErrorBody{Code: CodeFlagged}} }

// NoQuota returns the refusal of a key whose account has no money.
func NoQuota() Answer { return Answer{Status: 429, Error: ErrorBody{Code: CodeNoQuota}} }

// RetryForm is the form of an answer's time for the next try.
type RetryForm int

// The forms. InMillis is OpenAI's and Azure's, InBody is Gemini's (RetryInfo).
const (
	InSeconds RetryForm = iota
	InMillis
	AsDate
	InBody
)

// setRetry writes the time for the next try.
func (a Answer) setRetry(h http.Header) {
	if a.RetryAfter <= 0 {
		return
	}
	switch a.RetryForm {
	case InSeconds:
		h.Set("Retry-After", strconv.FormatFloat(math.Ceil(a.RetryAfter.Seconds()), 'f', -1, 64))
	case InMillis:
		h.Set("Retry-After-Ms", strconv.FormatInt(a.RetryAfter.Milliseconds(), 10))
	case AsDate:
		h.Set("Retry-After", time.Now().Add(a.RetryAfter).UTC().Format(http.TimeFormat))
	}
}

// setRate writes the key's limits like the provider; Gemini has no such headers.
func setRate(h http.Header, p Protocol, rate llm.Rate, now time.Time) {
	for name, w := range map[string]llm.Window{"requests": rate.Requests, "tokens": rate.Tokens} {
		if w.Limit == 0 {
			continue
		}
		limit, left := strconv.FormatInt(w.Limit, 10), strconv.FormatInt(w.Remaining, 10)
		switch p {
		case Chat, Responses:
			h.Set("X-Ratelimit-Limit-"+name, limit)
			h.Set("X-Ratelimit-Remaining-"+name, left)
			h.Set("X-Ratelimit-Reset-"+name, w.Reset.Round(time.Millisecond).String())
		case Anthropic:
			h.Set("Anthropic-Ratelimit-"+name+"-Limit", limit)
			h.Set("Anthropic-Ratelimit-"+name+"-Remaining", left)
			h.Set("Anthropic-Ratelimit-"+name+"-Reset", now.Add(w.Reset).UTC().Format(time.RFC3339))
		}
	}
}

// page is a proxy's answer when it cannot reach the provider.
const page = `<html>
<head><title>502 Bad Gateway</title></head>
<body>
<center><h1>502 Bad Gateway</h1></center>
<hr><center>nginx</center>
</body>
</html>
`

// usual are OpenAI's errors by status.
var usual = map[int]ErrorBody{
	400: {Message: "Invalid value for 'model'.", Type: "invalid_request_error"},
	401: {Message: "Incorrect API key provided. You can find your API key at https://platform.openai.com/account/api-keys.", Type: "invalid_request_error", Code: "invalid_api_key"},
	403: {Message: "Project `proj_stub` does not have access to this model.", Type: "invalid_request_error", Code: "model_not_found"},
	404: {Message: "The model does not exist or you do not have access to it.", Type: "invalid_request_error", Code: "model_not_found"},
	408: {Message: "Request timed out.", Type: "server_error"},
	413: {Message: "Request body too large.", Type: "invalid_request_error"},
	429: {Message: "Rate limit reached in organization org-stub on requests per min (RPM): Limit 500, Used 500, Requested 1. Please try again in 120ms.", Type: "requests", Code: "rate_limit_exceeded"},
	500: {Message: "The server had an error while processing your request. Sorry about that!", Type: "server_error"},
	503: {Message: "The engine is currently overloaded, please try again later", Type: "service_unavailable_error"},
}

// openAIError fills in the empty members of an error.
func openAIError(status int, e ErrorBody, tooLong string) ErrorBody {
	if e.Message != "" {
		return e
	}
	param := "messages"
	switch e.Code {
	case CodeTooLong:
		return ErrorBody{Message: tooLong, Type: "invalid_request_error", Param: &param, Code: e.Code}
	case CodeFlagged:
		return ErrorBody{Message: "Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again with a different prompt: https://platform.openai.com/docs/guides/reasoning#advice-on-prompting", Type: "invalid_request_error", Code: "invalid_prompt"}
	case CodeNoQuota:
		return ErrorBody{Message: "You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.", Type: CodeNoQuota, Code: e.Code}
	}
	if known, ok := usual[status]; ok && e == (ErrorBody{}) {
		return known
	}
	e.Message = cmp.Or(http.StatusText(status), "error "+strconv.Itoa(status))
	return e
}

// anthropicMessages are Anthropic's errors by status.
var anthropicMessages = map[int]string{
	400: "messages: Input should be a valid list", 401: "invalid x-api-key",
	403: "Your API key does not have permission to use the specified resource.", 404: "model: stub",
	408: "Request timed out.", 413: "Request exceeds the maximum size",
	429: "This request would exceed the rate limit for your organization (00000000-0000-0000-0000-000000000000) of 50 requests per minute. For details, refer to: https://docs.claude.com/en/api/rate-limits.",
	500: "Internal server error", 503: "Service Unavailable", 529: "Overloaded",
}

// geminiMessages are Gemini's errors by status.
var geminiMessages = map[int]string{
	400: "Request contains an invalid argument.",
	401: "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.",
	403: "Generative Language API has not been used in project 0 before or it is disabled.",
	404: "models/stub is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.",
	408: "Request timed out.", 413: "Request payload size exceeds the limit: 20971520 bytes.",
	429: "Resource has been exhausted (e.g. check quota).",
	500: "An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting",
	503: "The model is overloaded. Please try again later.", 504: "Deadline expired before operation could complete.",
}

// message returns the message of an error: its own, the one for its code, or the usual one.
func (e ErrorBody) message(status int, codes map[string]string, usual map[int]string) string {
	if e.Message != "" {
		return e.Message
	}
	if code, ok := e.Code.(string); ok && codes[code] != "" {
		return codes[code]
	}
	if usual[status] != "" {
		return usual[status]
	}
	return fmt.Sprintf("%d %s", status, http.StatusText(status))
}

var anthropicCodes = map[string]string{
	CodeTooLong: "prompt is too long: 210000 tokens > 200000 maximum",
	CodeFlagged: "Output blocked by content filtering policy",
	CodeNoQuota: "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
}

var geminiCodes = map[string]string{
	CodeTooLong: "The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).",
	CodeNoQuota: "You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.",
}
