package stub

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"batch.example/batch/llm"
)

// gemini is Google's generateContent and streamGenerateContent.
type gemini struct{}

// geminiFinish maps finish reasons to Gemini's.
var geminiFinish = map[string]string{
	FinishStop: "STOP", FinishTools: "STOP", FinishLength: "MAX_TOKENS", FinishRefused: "SAFETY",
}

// geminiStatus maps HTTP statuses to Gemini's names.
var geminiStatus = map[int]string{
	400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
	408: "DEADLINE_EXCEEDED", 413: "INVALID_ARGUMENT", 429: "RESOURCE_EXHAUSTED",
	500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}

func (gemini) failure(a Answer) (int, []byte) {
	if a.Error.Code == CodeFlagged && a.Error.Message == "" {
		return http.StatusOK, encode(object{
			"promptFeedback": object{"blockReason": "PROHIBITED_CONTENT"}, "modelVersion": "stub",
			"usageMetadata": object{"promptTokenCount": 7, "totalTokenCount": 7},
		})
	}
	status := a.status()
	name := geminiStatus[status]
	if name == "" {
		name = "UNKNOWN"
	}
	body := object{"code": status, "message": a.Error.message(status, geminiCodes, geminiMessages), "status": name}
	var details []any
	if code, ok := a.Error.Code.(string); ok && strings.ToUpper(code) == code && code != "" {
		details = append(details, object{
			"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": code, "domain": "googleapis.com",
		})
	}
	if a.Error.Code == CodeNoQuota {
		details = append(details, object{
			"@type":      "type.googleapis.com/google.rpc.QuotaFailure",
			"violations": []any{object{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "quotaValue": "0"}},
		})
	}
	if a.RetryForm == InBody && a.RetryAfter > 0 {
		delay := strconv.FormatFloat(a.RetryAfter.Seconds(), 'f', -1, 64) + "s"
		details = append(details, object{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay})
	}
	if details != nil {
		body["details"] = details
	}
	return status, encode(object{"error": body})
}

func (p gemini) interrupted(a Answer, _ call) event {
	_, body := p.failure(a)
	return event{data: body}
}

// isGemini3 reports whether the model requires its thought signatures back, and gives ids to its calls.
func isGemini3(model string) bool { return strings.HasPrefix(model, "gemini-3") }

func (p gemini) whole(a Answer, c call) []byte {
	return encode(p.response(a, c, p.parts(a, c), true))
}

func (gemini) response(a Answer, c call, parts []any, last bool) object {
	candidate := object{"index": 0, "content": object{"role": "model", "parts": parts}}
	body := object{"candidates": []any{candidate}, "modelVersion": c.model, "responseId": fmt.Sprintf("resp%06d", c.n)}
	if !last {
		return body
	}
	candidate["finishReason"] = a.finishAs(geminiFinish)
	for _, t := range (llm.Message{Parts: a.parts()}).ToolCalls() {
		if !isObject(t.Arguments) { // no part can contain it
			candidate["finishReason"] = "MALFORMED_FUNCTION_CALL"
			candidate["finishMessage"] = "Malformed function call: " + t.Name + t.Arguments
		}
	}
	if len(parts) == 0 {
		delete(candidate, "content")
	}
	if !a.NoUsage {
		body["usageMetadata"] = geminiUsage(a)
	}
	return body
}

func isObject(text string) bool {
	var o map[string]json.RawMessage
	return json.Unmarshal([]byte(text), &o) == nil && o != nil
}

func geminiUsage(a Answer) object {
	u := a.Usage
	usage := object{
		"promptTokenCount": u.Input, "totalTokenCount": u.Input + u.Output,
		"candidatesTokenCount": u.Output - u.Reasoning,
		"promptTokensDetails":  []any{object{"modality": "TEXT", "tokenCount": u.Input}},
	}
	if u.Cached > 0 {
		usage["cachedContentTokenCount"] = u.Cached
	}
	if u.Reasoning > 0 {
		usage["thoughtsTokenCount"] = u.Reasoning
	}
	if a.ServiceTier != "" {
		usage["serviceTier"] = a.ServiceTier
	}
	return usage
}

// parts returns the parts of an answer. The first function call after a thought has a signature, or without a
// call the last text.
func (p gemini) parts(a Answer, c call) []any {
	parts := []any{}
	thought, pending := "", isGemini3(c.model)
	lastText := -1
	for i, part := range a.parts() {
		switch part := part.(type) {
		case llm.Reasoning:
			thought, pending = thought+part.Text, true
			if part.Text != "" {
				parts = append(parts, object{"text": part.Text, "thought": true})
			}
		case llm.Text:
			lastText = len(parts)
			parts = append(parts, object{"text": part.Text})
		case llm.ToolCall:
			if !isObject(part.Arguments) {
				continue
			}
			fc := object{"name": part.Name, "args": json.RawMessage(part.Arguments)}
			if part.ID != "" || isGemini3(c.model) {
				fc["id"] = callName(part, "fc", c, i)
			}
			one := object{"functionCall": fc}
			if part.Opaque.Data != "" {
				one["thoughtSignature"], pending = part.Opaque.Data, false
			} else if pending {
				one["thoughtSignature"], pending = callSignature(part.Name, part.Arguments), false
			}
			parts = append(parts, one)
		}
	}
	if pending && thought != "" && lastText >= 0 {
		text := parts[lastText].(object)
		text["thoughtSignature"] = signature("answer", text["text"].(string))
	}
	return parts
}

// callSignature returns the signature of a function call.
func callSignature(name, args string) string { return signature("call", name+canonical([]byte(args))) }

func (gemini) named(a Answer, _ call) []llm.Part { return a.parts() }

// events returns the texts in pieces, one part for each response. The signature of a text comes with an empty
// text after it.
func (p gemini) events(a Answer, c call) []event {
	var chunks [][]any
	for _, part := range p.parts(a, c) {
		one := part.(object)
		text, isText := one["text"].(string)
		if !isText {
			chunks = append(chunks, []any{one})
			continue
		}
		for _, piece := range pieces(text) {
			cut := object{"text": piece}
			if one["thought"] != nil {
				cut["thought"] = true
			}
			chunks = append(chunks, []any{cut})
		}
		if sig, ok := one["thoughtSignature"]; ok {
			chunks = append(chunks, []any{object{"text": "", "thoughtSignature": sig}})
		}
	}
	if len(chunks) == 0 {
		chunks = append(chunks, []any{})
	}
	var list []event
	for i, parts := range chunks {
		list = append(list, event{data: encode(p.response(a, c, parts, i == len(chunks)-1))})
	}
	return list
}

// geminiMembers lists the members that a request may have, in both spellings.
var geminiMembers = names(`contents systemInstruction system_instruction tools toolConfig tool_config safetySettings
	safety_settings generationConfig generation_config cachedContent cached_content labels serviceTier service_tier store`)

func (gemini) read(h *Handler, r *http.Request, body []byte) (*Request, *refused) {
	req, err := newRequest(Gemini, r.Header, body)
	name, method, _ := strings.Cut(r.URL.Path[strings.LastIndex(r.URL.Path, "/models/")+len("/models/"):], ":")
	req.Model, req.Stream = name, method == "streamGenerateContent"
	if no := h.checkGeminiKey(r); no != nil {
		return req, no
	}
	if err == nil && req.Stream && r.URL.Query().Get("alt") != "sse" {
		err = fmt.Errorf("the stub streams with alt=sse only")
	}
	if err == nil {
		err = readGemini(req, &h.sent)
	}
	if err != nil {
		return req, &refused{http.StatusBadRequest, ErrorBody{Message: err.Error()}}
	}
	return req, nil
}

func (h *Handler) checkGeminiKey(r *http.Request) *refused {
	key := r.Header.Get("X-Goog-Api-Key")
	if key == "" {
		key = r.URL.Query().Get("key")
	}
	bearer := r.Header.Get("Authorization")
	switch {
	case key == "" && bearer == "":
		return &refused{http.StatusForbidden, ErrorBody{Message: "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API."}}
	case h.Key != "" && key != h.Key && bearer != "Bearer "+h.Key:
		return &refused{http.StatusBadRequest, ErrorBody{Message: "API key not valid. Please pass a valid API key.", Code: "API_KEY_INVALID"}}
	}
	return nil
}
