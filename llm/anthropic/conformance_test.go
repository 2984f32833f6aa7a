package anthropic_test

import (
	"testing"

	"batch.example/batch/llm"
	"batch.example/batch/llm/anthropic"
	"batch.example/batch/llm/conformance"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/stub"
)

func TestConformance(t *testing.T) {
	conformance.Run(t, conformance.Client{
		Protocol: stub.Anthropic, Streams: []bool{true, false},
		Open: func(cfg endpoint.Config) (llm.Model, error) { return anthropic.New(cfg) },
	})
}
