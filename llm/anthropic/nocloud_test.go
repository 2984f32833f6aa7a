//go:build !cloud

package anthropic_test

import (
	"strings"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/llm/anthropic"
	"batch.example/batch/llm/endpoint"
)

func TestABinaryWithoutTheCloudsSaysSo(t *testing.T) {
	_, bedrock := anthropic.NewBedrock(t.Context(), endpoint.Config{Model: "m"})
	_, vertex := anthropic.NewVertex(t.Context(), endpoint.Config{Model: "m"})
	for _, err := range []error{bedrock, vertex} {
		if fault.KindOf(err) != fault.Usage || !strings.Contains(fault.HintOf(err), "-tags cloud") {
			t.Errorf("%v (%v), hint %q; want a Usage fault that names the tag", err, fault.KindOf(err), fault.HintOf(err))
		}
	}
}
