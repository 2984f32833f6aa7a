package gateway

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"batch.example/batch/llm/inbound"
)

// gemini is Google's Gemini API, whose paths name the model and say whether an answer is a stream.
type gemini struct{ asItComes }

func (gemini) routes(method, path string) route {
	version, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if !slices.Contains([]string{"v1", "v1beta", "v1beta1", "v1alpha"}, version) {
		return routeOf(method, path, "", "")
	}
	_, name, ok := strings.Cut("/"+rest, "/models/")
	_, of, _ := strings.Cut(name, ":")
	switch {
	case method == http.MethodPost && ok && (of == "generateContent" || of == "streamGenerateContent"):
		return routeCall
	case method == http.MethodPost && ok && of == "countTokens":
		return routeCount
	case method == http.MethodGet:
		return routeOf(method, "/"+rest, "", "/models")
	}
	return routeNone
}

func (gemini) read(at *url.URL, body []byte) (*inbound.Call, error) {
	c, err := inbound.Gemini(body)
	if err != nil {
		return nil, err
	}
	name, of, _ := strings.Cut(at.Path[strings.LastIndex(at.Path, "/models/")+len("/models/"):], ":")
	c.Model, c.Stream = name, of == "streamGenerateContent"
	if c.Stream && at.Query().Get("alt") != "sse" {
		return nil, errors.New("a stream is served as events alone: add ?alt=sse to the address")
	}
	return c, nil
}

// geminiTable is after GenerateContentRequest and Tool (ai.google.dev/api, and Vertex AI's, 2026).
var geminiTable = table{
	out: []string{"model", "labels", "serviceTier", "store"}, refused: []string{"cachedContent", "generateContentRequest"}, answers: []string{"generationConfig", "candidateCount"},
	choice: []string{"toolConfig"}, body: []string{"contents", "systemInstruction"}, inner: []string{"parts", "functionResponse"},
	members: []string{
		"googleSearch", "googleSearchRetrieval", "urlContext", "codeExecution", "fileSearch", "googleMaps", "enterpriseWebSearch",
		"retrieval", "mcpServers", "exaAiSearch", "parallelAiSearch",
	},
	fetched: func(part fields) bool { return part.has(anything, "fileData") },
	text:    `{"text":` + tookOut + `}`,
}

func (gemini) edit(body []byte, _ string, hosted bool) (edited []byte, removed []string, err error) {
	return geminiTable.edit(body, nil, hosted)
}

func (gemini) header(http.Header) http.Header { return http.Header{} }

func (gemini) models(alias string, one bool) []byte {
	model := map[string]any{
		"name": "models/" + alias, "displayName": alias, "supportedGenerationMethods": []string{"generateContent", "streamGenerateContent"},
	}
	if one {
		return encode(model)
	}
	return encode(map[string]any{"models": []any{model}})
}

func (gemini) refusal(status int, message string) []byte {
	name := map[int]string{http.StatusUnauthorized: "UNAUTHENTICATED", http.StatusNotFound: "NOT_FOUND"}[status]
	if name == "" {
		name = "INVALID_ARGUMENT"
	}
	return encode(map[string]any{"error": map[string]any{"code": status, "message": message, "status": name}})
}

func (g gemini) broken(said []byte, message string) []byte {
	if said == nil || !gjson.GetBytes(said, "error").Exists() {
		said = g.refusal(http.StatusBadRequest, message)
	}
	return event("", said)
}

// alive is nothing: of the three libraries of Google each takes another event, or a comment, for an error or a
// part of the next event. So the status of an answer waits for its first event, and a refusal always has one.
func (gemini) alive(_, _ []byte) []byte { return nil }

func (gemini) lower(body []byte, most int64) []byte {
	return limited(gjson.ParseBytes(body), most, "generationConfig", "maxOutputTokens")
}
