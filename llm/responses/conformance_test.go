package responses_test

import (
	"testing"

	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/llmtest"
	"batch.example/batch/llm/llmtest/conformance"
	"batch.example/batch/llm/responses"
)

func TestConformance(t *testing.T) {
	conformance.Run(t, conformance.Client{
		Protocol: llmtest.Responses, Streams: []bool{false, true},
		Open: func(cfg endpoint.Config) (llm.Model, error) { return responses.New(cfg) },
	})
}
