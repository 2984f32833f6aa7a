package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"batch.example/batch/e2e/scripttest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"batch": main})
}

func TestScripts(t *testing.T) {
	t.Parallel()
	scripttest.Run(t, scripttest.Params{})
}
