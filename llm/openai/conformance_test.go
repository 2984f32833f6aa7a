package openai_test

import (
	"testing"

	"batch.example/batch/llm"
	"batch.example/batch/llm/conformance"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/openai"
	"batch.example/batch/llm/stub"
)

func TestConformance(t *testing.T) {
	conformance.Run(t, conformance.Client{
		Protocol: stub.Chat, Streams: []bool{false, true},
		Open: func(cfg endpoint.Config) (llm.Model, error) { return openai.New(cfg) },
	})
}
