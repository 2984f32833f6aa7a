package session_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"batch.example/batch/attempt/session"
	"batch.example/batch/journal"
)

// openStore is an open store.
type openStore interface {
	session.Store
	Close() error
}

// opening opens the store of the session with an id in a directory, as another process would.
type opening func(dir, id string) (openStore, error)

// TestSessions checks what a session promises over each kind of stores.
func TestSessions(t *testing.T) {
	t.Parallel()
	for kind, open := range map[string]opening{
		"journal": func(dir, id string) (openStore, error) { return openIn(dir, id) },
		"ledger":  func(dir, id string) (openStore, error) { return openLedger(filepath.Join(dir, id+".json")) },
	} {
		t.Run(kind, func(t *testing.T) {
			for name, test := range map[string]func(*testing.T, beginning){
				"ASessionHasTheStatusOfItsTurns":              testASessionHasTheStatusOfItsTurns,
				"TheEndsOfTurns":                              testTheEndsOfTurns,
				"AFailedTurnIsTriedAgain":                     testAFailedTurnIsTriedAgain,
				"WordsThatTheModelHasNotSeenReachItOnce":      testWordsThatTheModelHasNotSeenReachItOnce,
				"ATurnThatFailedByAReplyDoesNotFailByItAgain": testATurnThatFailedByAReplyDoesNotFailByItAgain,
				"ATurnCountsItsOwnFormatErrors":               testATurnCountsItsOwnFormatErrors,
				"MessagesAreReadByTurnAndNumber":              testMessagesAreReadByTurnAndNumber,
				"ArtifactsAreExact":                           testArtifactsAreExact,
				"AnArtifactMayBeSavedDuringATurn":             testAnArtifactMayBeSavedDuringATurn,
				"AClearedSessionHasForgotten":                 testAClearedSessionHasForgotten,
				"PicturesAreTheTasks":                         testPicturesAreTheTasks,
				"MetadataIsKept":                              testMetadataIsKept,
				"WhatComesTooEarlyOrTooLateIsRefused":         testWhatComesTooEarlyOrTooLateIsRefused,
				"ATurnThatPanicsIsTriedAgain":                 testATurnThatPanicsIsTriedAgain,
				"AFullDiskFailsTheTurnAndLosesNothing":        testAFullDiskFailsTheTurnAndLosesNothing,
			} {
				t.Run(name, func(t *testing.T) { test(t, beginIn(open)) })
			}
		})
	}
}

// openIn opens the journal of the session with an id in a directory.
func openIn(dir, id string) (*journal.Writer, error) {
	path := filepath.Join(dir, id, "journal.jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	return open(path, journal.Options{Durability: journal.Process, Spend: func(_, _ float64) {}})
}

// full is a store that cannot write records, make them durable, or be read, at times.
type full struct {
	session.Store
	flush, sync, read error
}

func (f *full) Flush() error { return errors.Join(f.flush, f.Store.Flush()) }

func (f *full) Sync() error { return errors.Join(f.sync, f.Store.Sync()) }

func (f *full) HistoryHere() (*journal.History, error) {
	h, err := f.Store.HistoryHere()
	return h, errors.Join(f.read, err)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
