package anthropic

import "batch.example/batch/llm/endpoint"

// Bedrock and Vertex are the protocols of the clouds that serve Claude. Their addresses depend on the region.
var (
	Bedrock = endpoint.Protocol{
		Provider: "Bedrock", Prefix: "bedrock/", KeyVariable: "AWS_BEARER_TOKEN_BEDROCK", AddressVariable: "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
		Streaming: endpoint.StreamsByDefault, Signs: true,
	}
	Vertex = endpoint.Protocol{
		Provider: "Vertex AI", Prefix: "vertex_ai/", KeyVariable: "VERTEXAI_ACCESS_TOKEN", AddressVariable: "VERTEXAI_API_BASE",
		Streaming: endpoint.StreamsByDefault, Signs: true,
	}
)
