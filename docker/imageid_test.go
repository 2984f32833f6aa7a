package docker_test

import (
	"net/http"
	"testing"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/sandbox/engine"
)

// An image that somebody removed in between can be pulled again.
func TestAnImageRemovedBeforeCreateIsATransientFault(t *testing.T) {
	s := newEngineStub(t)
	e := s.connect(t, time.Hour)
	s.say("POST /containers/create", answer(http.StatusNotFound, map[string]string{"message": "No such image: " + stubID}))
	for id, want := range map[string]fault.Kind{"": fault.Instance, stubID: fault.Transient} {
		_, err := e.Create(t.Context(), engine.Spec{Image: stubImage, ImageID: id})
		if fault.KindOf(err) != want || fault.HintOf(err) == "" {
			t.Errorf("with id %q: got %v: %v; want fault kind %v, a hint", id, fault.KindOf(err), err, want)
		}
	}
}
