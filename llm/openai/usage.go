package openai

import (
	"cmp"
	"encoding/json"
	"net/http"

	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/internal/openaiapi"
	"batch.example/batch/vocab"
)

// readUsage reads the known members of an answer's usage and ignores the rest: the answer is paid for, and
// another request would be paid for again.
func readUsage(raw json.RawMessage, header http.Header) (u vocab.Usage, cost *float64) {
	usage := endpoint.Members(raw)
	prompt := endpoint.Members(usage["prompt_tokens_details"])
	u.Input = endpoint.Tokens(usage["prompt_tokens"])
	u.Cached = cmp.Or(endpoint.Tokens(prompt["cached_tokens"]),
		endpoint.Tokens(usage["cached_tokens"]), endpoint.Tokens(usage["prompt_cache_hit_tokens"])) // Moonshot and Together, DeepSeek
	u.CacheWrite = cmp.Or(endpoint.Tokens(prompt["cache_write_tokens"]), // OpenRouter
		endpoint.Tokens(prompt["cache_creation_tokens"]), endpoint.Tokens(usage["cache_creation_input_tokens"])) // LiteLLM
	u.Reasoning = endpoint.Tokens(endpoint.Members(usage["completion_tokens_details"])["reasoning_tokens"])
	u.Output = openaiapi.Output(endpoint.Tokens(usage["total_tokens"]), u.Input, endpoint.Tokens(usage["completion_tokens"]), u.Reasoning)
	return u, openaiapi.Cost(usage, header)
}
