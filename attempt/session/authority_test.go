package session_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"batch.example/batch/attempt/session"
	"batch.example/batch/fault"
	"batch.example/batch/journal"
	"batch.example/batch/llm/authority"
	"batch.example/batch/vocab"
)

const plantedKey = "sk-planted-of-a-person-0123456789"

// lasting is an authority that is valid for so long from now on.
func (k *scene) lasting(d time.Duration) *authority.Authority {
	return &authority.Authority{
		Actor: "planted-actor", ModelKey: plantedKey, Tokens: map[string]string{"server": plantedKey}, Expires: k.now.Add(d),
	}
}

// hasNoSecrets checks that no file has a secret of an authority.
func (k *scene) hasNoSecrets() {
	k.Helper()
	err := filepath.WalkDir(k.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "planted") {
			k.Errorf("%s has what an authority has", path)
		}
		return err
	})
	if err != nil {
		k.Error(err)
	}
}

// expired checks that an error is about credentials that have expired.
func (k *scene) expired(err error) {
	k.Helper()
	if fault.KindOf(err) != fault.Expired || !errors.Is(err, authority.ErrExpired) || strings.Contains(err.Error(), "planted") {
		k.Errorf("%v is %v, want %v around ErrExpired", err, fault.KindOf(err), fault.Expired)
	}
}

func TestATurnWithCredentialsThatHaveExpiredDoesNotBegin(t *testing.T) {
	k := newScene(t, tools(), says("done"))
	k.with(func(s *session.Session) {
		in := k.input("do it")
		in.Authority = k.lasting(0)
		_, err := s.Begin(t.Context(), in)
		k.expired(err)
		if st := s.State(); st.Status != session.Ready || st.Turns != 0 || st.Retry || len(k.model.asked) != 0 {
			t.Errorf("the state is %+v after %d calls, want ready, without a turn", st, len(k.model.asked))
		}
		in.Authority = k.lasting(time.Second)
		if res, err := s.Turn(t.Context(), in); err != nil || res.Turn != 1 || res.Answer != "done" {
			t.Errorf("%+v, %v; want the first turn", res, err)
		}
	})
	k.hasNoSecrets()
}

// Credentials expire before the second call, or before the first action. The turn stays
// open, and with fresh ones it continues where it was.
func TestATurnWhoseCredentialsExpireIsTriedAgain(t *testing.T) {
	for name, expireAt := range map[string]func(k *scene, expire func()){
		"before a call": func(k *scene, expire func()) { k.env.after = func(string) { expire() } },
		"before an action": func(k *scene, expire func()) {
			k.model.before = func(int) error { expire(); return nil }
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := newScene(t, tools(), runs("one"), runs("two"), says("done"))
			expireAt(k, func() { k.now = k.now.Add(time.Hour) })
			k.with(func(s *session.Session) {
				in := k.input("do it")
				in.Authority = k.lasting(time.Minute)
				res, err := s.Turn(t.Context(), in)
				k.expired(err)
				if res.End != journal.TurnFailed || res.Ending.Status != vocab.StatusExpiredFault || !s.State().Retry {
					t.Errorf("ended as %s, %s, open: %v; want a turn that failed and is open", res.End, res.Ending.Status, s.State().Retry)
				}
				if _, err := s.Begin(t.Context(), session.Input{Model: k.model, Env: k.env, Authority: in.Authority}); !errors.Is(err, authority.ErrExpired) {
					t.Errorf("tried again with the same: %v, want ErrExpired", err)
				}
			})
			k.env.after, k.model.before = nil, nil
			again := k.input("")
			again.Authority = k.lasting(time.Minute)
			k.say(again)
			if want := []string{"one", "two"}; !slices.Equal(k.env.ran, want) || len(k.model.asked) != 3 {
				t.Errorf("ran %q with %d calls, want %q with 3", k.env.ran, len(k.model.asked), want)
			}
			list := k.stored()
			if last := list[len(list)-1]; last.Turn != 1 {
				t.Errorf("the last message is of turn %d, want 1", last.Turn)
			}
			k.hasNoSecrets()
		})
	}
}
