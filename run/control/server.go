package control

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"batch.example/batch/fault"
)

// Work is running work that a [Server] serves. Its methods are called from several goroutines at
// once, except that Check and Apply are called for one command at a time.
type Work interface {
	// Status returns the state of the work; Dir, PID and Recent may be left out. It must be fast.
	Status(content bool) Status

	// Check refuses a command that cannot be carried out, with a Usage fault. It returns the
	// command as it is to be recorded, so that it means the same to another process.
	Check(Command) (Command, error)

	// Apply carries out a command that has been checked and recorded. Effect says in a
	// sentence what it does. After an error, the next process carries it out.
	Apply(Record) (effect string, err error)
}

// Server serves the work in one directory.
type Server struct {
	dir  string
	work Work
	file *Log
	log  *slog.Logger

	http    http.Server
	over    chan struct{}  // closed when the work has ended
	serving sync.WaitGroup // the accepting goroutine
	asked   sync.WaitGroup // requests

	gate   sync.Mutex
	closed bool // guarded by gate: no request begins

	mu      sync.Mutex // held while a command is carried out
	effects map[string]string
	failed  map[string]error // of Apply
}

// Serve listens on the socket in dir, whose lock the caller holds. The caller must Close the
// Server when the work has ended.
func Serve(dir string, w Work, file *Log, log *slog.Logger) (*Server, error) {
	l, err := listen(dir)
	if err != nil {
		return nil, fault.New(fault.Host, "listening for programs that control the work", err)
	}
	s := &Server{dir: dir, work: w, file: file, log: log, over: make(chan struct{}), effects: map[string]string{}, failed: map[string]error{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", s.status)
	mux.HandleFunc("POST /do", s.do)
	mux.HandleFunc("GET /wait", s.wait)
	s.http = http.Server{
		Handler: s.counted(mux), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second,
		MaxHeaderBytes: 8 << 10, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, senderKey{}, c.(*visit).sender)
		},
	}
	s.http.SetKeepAlivesEnabled(false)
	s.serving.Go(func() { _ = s.http.Serve(&door{Listener: l, log: log, open: make(chan struct{}, maxConns)}) })
	return s, nil
}

// senderKey is the key of a sender of a connection in the context of a request.
type senderKey struct{}

// Close ends all connections, waits for the command that is being carried out, and removes the socket.
func (s *Server) Close() error {
	s.gate.Lock()
	s.closed = true
	s.gate.Unlock()
	close(s.over)
	answered := make(chan struct{})
	go func() {
		s.asked.Wait()
		close(answered)
	}()
	select {
	case <-answered:
	case <-time.After(lastAnswers):
	}
	err := s.http.Close()
	s.serving.Wait()
	<-answered
	if gone := os.Remove(filepath.Join(s.dir, SocketName)); err == nil && !errors.Is(gone, fs.ErrNotExist) {
		err = gone
	}
	return err
}

// lastAnswers is how long Close waits for clients to take their answers.
const lastAnswers = 500 * time.Millisecond

// counted lets Close wait for requests.
func (s *Server) counted(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.enter() {
			defer s.asked.Done()
			h.ServeHTTP(w, r)
		}
	})
}

// enter counts a request. It returns false if the server is closed.
func (s *Server) enter() bool {
	s.gate.Lock()
	defer s.gate.Unlock()
	if !s.closed {
		s.asked.Add(1)
	}
	return !s.closed
}

func (s *Server) status(w http.ResponseWriter, r *http.Request) {
	content := r.FormValue("content") == "true"
	st := s.work.Status(content)
	st.Dir, st.PID, st.Content = s.dir, os.Getpid(), content
	if st.Recent == nil {
		st.Recent = s.file.Recent(content)
	}
	if abs, err := filepath.Abs(s.dir); err == nil {
		st.Dir = abs
	}
	answer(w, http.StatusOK, st)
}

// wait answers when the work has ended.
func (s *Server) wait(w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // without it, the client asks again
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	select {
	case <-s.over:
	case <-r.Context().Done():
	}
	w.WriteHeader(http.StatusNoContent)
}

// maxCommand limits the body of a command, in bytes. JSON writes a byte of a text in six at most.
const maxCommand = 6*MaxText + 4<<10

func (s *Server) do(w http.ResponseWriter, r *http.Request) {
	var c Command
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxCommand))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil {
		refuse(w, fault.New(fault.Usage, "reading the command", err))
		return
	}
	from, _ := r.Context().Value(senderKey{}).(sender)
	reply, err := s.carryOut(c, from)
	if err != nil {
		refuse(w, err)
		return
	}
	answer(w, http.StatusOK, reply)
}

// carryOut records a command and applies it, once.
func (s *Server) carryOut(c Command, from sender) (Reply, error) {
	if err := c.check(); err != nil {
		return Reply{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, again := s.file.find(c.ID); again {
		return s.repeated(c, r)
	}
	c, err := s.work.Check(c)
	if err != nil {
		return Reply{}, err
	}
	r, err := s.file.Add(Record{Command: c, UID: from.uid, User: userName(from.uid), PID: from.pid})
	if err != nil {
		return Reply{}, err
	}
	effect, err := s.work.Apply(r)
	s.log.Info("control", "verb", r.Verb, "instance", r.Instance, "effect", effect, "id", r.ID, "user", r.User, "uid", r.UID, "sender_pid", r.PID, "program", r.Program, "err", err)
	if err != nil {
		s.failed[r.ID] = err
		return Reply{}, err
	}
	s.effects[r.ID] = effect
	return Reply{Record: r, Effect: effect}, nil
}

// repeated answers a command that was given before. An id belongs to one command.
func (s *Server) repeated(c Command, r Record) (Reply, error) {
	if !c.sameAs(r.Command) {
		return Reply{}, fault.Newf(fault.Usage, "the id of this command belongs to another one: %s", strings.TrimSpace(string(r.Verb)+" "+r.Instance))
	}
	if err := s.failed[r.ID]; err != nil {
		return Reply{}, err
	}
	effect := s.effects[r.ID]
	if effect == "" {
		effect = "it was carried out before"
	}
	return Reply{Record: r, Repeated: true, Effect: effect}, nil
}

// sameAs reports whether a command may be the one that was recorded, after a Check: that adds the
// cell to the name of an instance, and makes a sum of what is added to a budget.
func (c Command) sameAs(was Command) bool {
	_, inCell, _ := strings.Cut(was.Instance, "/")
	summed := c.Add && !was.Add
	return c.Verb == was.Verb && c.Width == was.Width && c.Text == was.Text && reflect.DeepEqual(c.Limit, was.Limit) &&
		(c.Instance == was.Instance || c.Instance != "" && c.Instance == inCell) &&
		(summed || c.Add == was.Add && c.Budget == was.Budget)
}

// userName returns the name of a user; empty: it is not known.
func userName(uid int) string {
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return ""
	}
	return u.Username
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)       // the client may be gone
	_ = http.NewResponseController(w).Flush() // before Close ends the connection
}

func refuse(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	if fault.KindOf(err) == fault.Usage {
		status = http.StatusUnprocessableEntity
	}
	answer(w, status, problem{Kind: fault.KindOf(err).String(), Error: err.Error(), Hint: fault.HintOf(err)})
}
