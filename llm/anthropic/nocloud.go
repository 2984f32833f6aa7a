//go:build !cloud

package anthropic

import (
	"context"

	"batch.example/batch/fault"
	"batch.example/batch/llm/endpoint"
)

// NewBedrock returns a Usage fault: this binary has no client for Amazon Bedrock.
func NewBedrock(context.Context, endpoint.Config) (*Model, error) { return nil, withoutCloud() }

// NewVertex returns a Usage fault: this binary has no client for Google's Vertex AI.
func NewVertex(context.Context, endpoint.Config) (*Model, error) { return nil, withoutCloud() }

func withoutCloud() error {
	return fault.Newf(fault.Usage, "this binary was built without Bedrock and Vertex").
		WithHint("build it with `go build -tags cloud ./cmd/batch`")
}
