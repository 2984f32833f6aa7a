package endpoint

import (
	"errors"
	"net/http"
	"testing"

	"batch.example/batch/llm"
)

// A proxy in between refuses every conversation by its own policy: that
// is not a result of the model.
func TestAnHTMLPageIsNotARefusalByTheProvider(t *testing.T) {
	const page = `<html><h1>Access denied</h1>This request was flagged: it is blocked by the company's internet usage policy.</html>`
	for _, status := range []int{http.StatusBadRequest, http.StatusForbidden, http.StatusUnavailableForLegalReasons} {
		if err := readErrorBody([]byte(page)).typed(status, errors.New("said")); errors.Is(err, llm.ErrContentPolicy) {
			t.Errorf("%d: a proxy's page counts as the model's result: %v", status, err)
		}
		said := readErrorBody([]byte(`{"error":{"message":"Your prompt was flagged: it violates our usage policy."}}`))
		if err := said.typed(status, errors.New("said")); !errors.Is(err, llm.ErrContentPolicy) {
			t.Errorf("%d: the provider's refusal is not recognized: %v", status, err)
		}
	}
}
