package docker_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"batch.example/batch/docker"
)

func TestRemovalsDoNotWaitForCreatesThatHang(t *testing.T) {
	s := newEngineStub(t)
	e := s.connect(t, time.Hour, func(c *docker.Config) { c.Lives = 2 })
	hanging := make(chan struct{})
	s.say("POST /containers/create", func(w http.ResponseWriter, r *http.Request) {
		hanging <- struct{}{}
		s.hang(w, r)
	})
	var creates sync.WaitGroup
	defer creates.Wait()
	defer s.resume()
	for range 5 {
		creates.Go(func() {
			if c, err := e.Create(t.Context(), docker.Spec{Image: stubImage}); err == nil {
				_ = c.Remove(t.Context())
			}
		})
	}
	for range 2 { // as many as may be under way
		<-hanging
	}
	removed := make(chan error, 4)
	for range cap(removed) {
		go func() { removed <- e.Remove(t.Context(), stubBox) }()
	}
	for range cap(removed) {
		select {
		case err := <-removed:
			if err != nil {
				t.Error(err)
			}
		case <-soon(t).Done():
			t.Fatal("a removal waits for creates that hang")
		}
	}
}
