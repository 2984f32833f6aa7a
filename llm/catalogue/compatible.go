package catalogue

import (
	"cmp"
	"net/url"
	"strings"

	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/internal/openaiapi"
	"batch.example/batch/llm/openai"
	"batch.example/batch/llm/responses"
)

// compatible returns the row of a provider with OpenAI's protocols.
func compatible(name string, p endpoint.Protocol) Provider {
	row := served(name, p, func(c endpoint.Config) (llm.Model, error) { return openai.Open(c, p) })
	row.answers = func(c endpoint.Config) (llm.Model, error) { return responses.Open(c, p) }
	return row
}

// further returns the row of a provider other than OpenAI; its variables begin with prefix.
func further(name, title, prefix, base string) Provider {
	p := endpoint.Protocol{
		Provider: title, Prefix: name + "/", DefaultBase: base, Streaming: endpoint.StreamsOnRequest,
		KeyVariable: prefix + "_API_KEY", AddressVariable: prefix + "_API_BASE",
	}
	if title == openaiapi.Azure {
		p.KeyHeader = "Api-Key"
	}
	row := compatible(name, p)
	row.Further = true
	return row
}

// own returns the row of a server that a user runs.
func own(name, title, prefix, base string) Provider {
	row := further(name, title, prefix, base)
	row.Keyless = true
	return row
}

// ollama returns the row of one of Ollama's names. Its variable has the address of Ollama's own protocol;
// OpenAI's is below it, at /v1.
func ollama(name string) Provider {
	const title, prefix = "Ollama", "OLLAMA"
	row := compatible(name, endpoint.Protocol{
		Provider: title, Prefix: name + "/", DefaultBase: "http://localhost:11434/v1", Streaming: endpoint.StreamsOnRequest,
		KeyVariable: prefix + "_API_KEY", AddressVariable: prefix + "_API_BASE",
		Adapt: func(base string) string {
			u, err := url.Parse(base)
			if err != nil || strings.Trim(u.Path, "/") != "" {
				return base
			}
			return u.JoinPath("v1").String()
		},
	})
	row.Further, row.Keyless = true, true
	return row
}

// azureVersion is the default version of Azure's API: the newest that is not a preview.
const azureVersion = "2024-10-21"

// azureResponses is the first version of Azure's API that has the Responses API.
const azureResponses = "2025-03-01-preview"

// azure returns the row of OpenAI's models at Azure. Their names are names of deployments.
func azure() Provider {
	row := further("azure", openaiapi.Azure, "AZURE", "")
	row.Models, row.Version, row.Host = []string{"azure/DEPLOYMENT"}, "AZURE_API_VERSION", "the address in AZURE_API_BASE"
	chat, responses := row.connect, row.answers
	row.connect = func(c endpoint.Config) (llm.Model, error) {
		c.APIVersion = cmp.Or(c.APIVersion, azureVersion)
		return chat(c)
	}
	row.answers = func(c endpoint.Config) (llm.Model, error) {
		c.APIVersion = cmp.Or(c.APIVersion, azureResponses)
		return responses(c)
	}
	return row
}
