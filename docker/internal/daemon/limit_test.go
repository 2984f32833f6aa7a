package daemon

import (
	"net/http"
	"testing"
	"time"
)

// Calls that take long with large images have a longer limit; calls to a registry
// end otherwise.
func TestTimeLimitsOfEngineCalls(t *testing.T) {
	for call, want := range map[[2]string]time.Duration{
		{http.MethodHead, "/_ping"}:                     10 * time.Second,
		{http.MethodPost, "/v1.41/images/create"}:       endless,
		{http.MethodGet, "/v1.41/events"}:               endless,
		{http.MethodPut, "/v1.41/containers/a/archive"}: 5 * time.Minute,
		{http.MethodGet, "/v1.41/containers/a/archive"}: time.Minute,
		{http.MethodDelete, "/v1.41/images/a"}:          5 * time.Minute,
		{http.MethodGet, "/v1.41/images/a/json"}:        time.Minute,
		{http.MethodGet, "/v1.41/images/a/history"}:     time.Minute,
		{http.MethodGet, "/v1.41/images/json"}:          5 * time.Minute,
		{http.MethodDelete, "/v1.41/containers/a"}:      30 * time.Second,
		{http.MethodGet, "/v1.41/containers/json"}:      time.Minute,
		{http.MethodPost, "/v1.41/containers/create"}:   time.Minute,
		{http.MethodPost, "/v1.41/containers/a/exec"}:   time.Minute,
		{http.MethodPost, "/v1.41/exec/a/start"}:        time.Minute,
	} {
		if got := limitOf(call[0], call[1]); got != want {
			t.Errorf("%s %s has %v, want %v", call[0], call[1], got, want)
		}
	}
}
