package faults

import (
	"testing"

	"batch.example/batch/e2e"
)

func TestMain(m *testing.M) { e2e.Main(m, nil) }
