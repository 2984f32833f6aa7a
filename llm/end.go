package llm

import "strings"

// End says how an answer ended.
type End int

const (
	// EndUnknown means a finish reason that no provider is known to use.
	EndUnknown End = iota
	// EndWhole means that the model itself ended its answer. Only then may its calls run.
	EndWhole
	// EndCut means that a limit of tokens or of the context truncated the answer. The end of the last call is
	// then missing, even if the rest is valid JSON.
	EndCut
	// EndFiltered means that a content filter ended the answer.
	EndFiltered
	// EndMalformed means that the server could not parse a call of the model, and does not pass it on.
	EndMalformed
	// EndFailed means that the provider failed.
	EndFailed
)

// EndOf interprets a finish reason of any protocol, because gateways pass on other providers' reasons. Only a
// reason that a provider documents as the model's own end is [EndWhole]. So is an empty one, because some
// servers send none with a complete answer.
//
// Gemini sends two reasons, as in "content_filter: SAFETY" and "function_call_filter:
// MALFORMED_FUNCTION_CALL". The worse one counts.
func EndOf(reason string) End {
	reason, more, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(reason), "-", "_"), ":")
	end := ends[strings.TrimSpace(reason)]
	if worse := ends[strings.TrimSpace(more)]; worse > EndWhole {
		end = max(end, worse)
	}
	return end
}

// ends are finish reasons in lower case, with _ for -.
var ends = map[string]End{
	// Without a word; OpenAI and those who follow it.
	"": EndWhole, "null": EndWhole, "none": EndWhole, "stop": EndWhole, "tool_calls": EndWhole, "tool_call": EndWhole, "function_call": EndWhole,
	"end_turn": EndWhole, "tool_use": EndWhole, "stop_sequence": EndWhole, "pause_turn": EndWhole, "compaction": EndWhole, // Anthropic, Bedrock
	"completed": EndWhole, "complete": EndWhole, // the Responses API, Cohere
	"eos": EndWhole, "eos_token": EndWhole, "normal": EndWhole, "endoftext": EndWhole, // Together, TGI and watsonx, Baidu, AI21

	"length": EndCut, "max_tokens": EndCut, "max_output_tokens": EndCut, "max_output": EndCut, "max_length": EndCut, "token_limit": EndCut, "time_limit": EndCut, // the last two are watsonx's
	"error_limit":  EndCut,                                          // Cohere, of the context
	"model_length": EndCut, "model_context_window_exceeded": EndCut, // Mistral, Anthropic and Zhipu
	"repetition_truncation": EndCut, "repetition": EndCut, // Xiaomi and vLLM, of a model that repeats itself

	"content_filter": EndFiltered, "sensitive": EndFiltered, // Zhipu
	"refusal": EndFiltered, "guardrail_intervened": EndFiltered, "content_filtered": EndFiltered, // Anthropic, Bedrock
	"safety": EndFiltered, "recitation": EndFiltered, "blocklist": EndFiltered, "prohibited_content": EndFiltered, "spii": EndFiltered, // Gemini
	"image_safety": EndFiltered, "image_prohibited_content": EndFiltered, "image_recitation": EndFiltered, "image_other": EndFiltered, // Gemini
	"model_armor": EndFiltered, "error_toxic": EndFiltered, // Vertex AI, Cohere

	"malformed_function_call": EndMalformed, "unexpected_tool_call": EndMalformed, "too_many_tool_calls": EndMalformed, // Gemini
	"malformed_response": EndMalformed, "malformed_tool_use": EndMalformed, "malformed_model_output": EndMalformed, // Gemini, Bedrock

	"error": EndFailed, "network_error": EndFailed, "insufficient_system_resource": EndFailed, "abort": EndFailed, // OpenRouter, Mistral; Zhipu; DeepSeek; vLLM, SGLang
	"failed": EndFailed, "cancelled": EndFailed, "canceled": EndFailed, "in_progress": EndFailed, "queued": EndFailed, "incomplete": EndFailed, // the Responses API
	"other": EndFailed, "language": EndFailed, "finish_reason_unspecified": EndFailed, "missing_thought_signature": EndFailed, // Gemini
	"no_image": EndFailed, "unknown": EndFailed, "load": EndFailed, "unload": EndFailed, "server_error": EndFailed, // Gemini, gateways on the AI SDK, Ollama, Copilot
	"not_finished": EndFailed, "timeout": EndFailed, "user_cancel": EndFailed, // watsonx, Cohere
}
