package endpoint

import (
	"regexp"
	"strings"
	"sync"
)

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
