package run

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/llm/cassette"
)

func TestRecordingsThatDoNotGoTogether(t *testing.T) {
	for want, r := range map[string]Request{
		"cannot be used together":  {Record: true, Replay: "x"},
		"needs --replay":           {ReplayChanged: true},
		"there is no recording in": {Replay: t.TempDir()},
	} {
		if err := checkRecording(r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %q", r, err, want)
		}
	}
}

func TestADirectoryToReplayMayHaveAnyName(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run[1]")
	if err := os.MkdirAll(filepath.Join(dir, "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a", cassette.FileName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := checkRecording(Request{Replay: dir}); err != nil {
		t.Errorf("got %v, want no error", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a", cassette.OldFileName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := checkRecording(Request{Replay: dir}); err == nil || !strings.Contains(err.Error(), "a/http.jsonl is of a form") {
		t.Errorf("got %v, want that the recording of before is refused", err)
	}
}

func TestAPlayedModelIsNeitherRecordedNorReplayed(t *testing.T) {
	for flag, r := range map[string]Request{"--record": {Record: true}, "--replay": {Replay: "x"}, "": {}} {
		for provider, played := range map[string]bool{"scripted": true, "oracle": true, "openai": false, "hosted_vllm": false} {
			err := checkAsked(r, provider)
			if refused := err != nil; refused != (played && flag != "") || refused && !strings.HasPrefix(err.Error(), flag+": batch plays "+provider) {
				t.Errorf("%+v, %s: got %v", r, provider, err)
			}
		}
	}
}

func TestAnIncompleteRecordingIsReportedOnce(t *testing.T) {
	var out strings.Builder
	failed := Process{Tell: func(text string) { out.WriteString(text + "\n") }}.tellNotRecorded()
	for _, instance := range []string{"a", "a", "b"} {
		failed(instance, errors.New("no space left on device"))
	}
	const end = ": its recording is not complete, and cannot be replayed: no space left on device\n"
	if want := "a" + end + "b" + end; out.String() != want {
		t.Errorf("reported %q, want %q", out.String(), want)
	}
}
