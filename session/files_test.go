package session_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"batch.example/batch/internal/sample"
	"batch.example/batch/session"
	"batch.example/batch/session/sessiontest"
)

func TestMain(m *testing.M) {
	if value := os.Getenv(sessiontest.Variable); value != "" {
		if err := sessiontest.Main(value, os.Stdin, os.Stdout, files("")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// files are the sessions in a directory.
func files(dir string) sessiontest.Store {
	return sessiontest.Store{
		Place: dir,
		Open: func(_ context.Context, place, id string, o session.Options) (session.Store, error) {
			return session.OpenFiles(place, id, o)
		},
	}
}

func TestAKilledSessionInFilesIsResumed(t *testing.T) {
	sessiontest.Kill(t, files(t.TempDir()), func(points []int) []int { return sample.Some(t, 25, points) })
}

func TestSessionsInFiles(t *testing.T) { sessiontest.Run(t, files(t.TempDir())) }
