package control_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/run/control"
	"batch.example/batch/vocab"
)

// work notes the commands that it carries out.
type work struct {
	mu      sync.Mutex
	applied []control.Record
	fails   error
	cell    string // that Check adds to the names of instances
}

func (w *work) Status(content bool) control.Status {
	s := control.Status{Kind: control.KindRun, State: control.Running, Workers: []vocab.Worker{{Instance: "a"}}}
	if content {
		s.Workers[0].Doing = "make test"
	}
	return s
}

func (w *work) Check(c control.Command) (control.Command, error) {
	if c.Instance == "unknown" {
		return c, fault.Newf(fault.Usage, "no instance unknown").WithHint("try another")
	}
	if w.cell != "" && c.Instance != "" {
		c.Instance = w.cell + "/" + strings.TrimPrefix(c.Instance, w.cell+"/")
	}
	if c.Add {
		c.Budget, c.Add = c.Budget+10, false
	}
	return c, nil
}

func (w *work) Apply(r control.Record) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.applied = append(w.applied, r)
	return "done " + string(r.Verb), w.fails
}

// served is work that is served in a new directory.
func served(t *testing.T, dir string) (*work, *text) {
	t.Helper()
	file, err := control.OpenLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	w, log := &work{}, &text{}
	s, err := control.Serve(dir, w, file, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return w, log
}

// text is written and read by several goroutines.
type text struct {
	mu sync.Mutex
	strings.Builder
}

func (t *text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.Builder.Write(p)
}

func (t *text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.Builder.String()
}

func dialed(t *testing.T, dir string) *control.Client {
	t.Helper()
	c, err := control.Dial(dir, filepath.Dir(dir))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestACommandIsCarriedOutOnceAndOnRecord(t *testing.T) {
	dir := t.TempDir()
	w, _ := served(t, dir)
	c := dialed(t, dir)
	cmd := control.Command{ID: control.NewID(), Verb: control.SetWidth, Width: 3, Program: "test"}
	first, err := c.Do(t.Context(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.Do(t.Context(), cmd)
	if err != nil || !again.Repeated || first.Repeated || again.Effect != first.Effect || again.Seq != first.Seq {
		t.Errorf("first %+v, again %+v, error %v", first, again, err)
	}
	if len(w.applied) != 1 || first.UID != os.Getuid() || first.PID != os.Getpid() && runtime.GOOS == "linux" {
		t.Errorf("applied %+v, reply %+v", w.applied, first)
	}
	h, err := control.Read(dir)
	if err != nil || len(h.Commands) != 1 || h.Commands[0].Width != 3 || h.InForce().Width != 3 {
		t.Errorf("history %+v, error %v", h, err)
	}
	cmd.Verb = control.Pause
	if _, err := c.Do(t.Context(), cmd); fault.KindOf(err) != fault.Usage {
		t.Errorf("another command with the same id: %v", err)
	}
}

// A command that is sent again is the same one, however its instance and its amount are written.
func TestAnIDBelongsToOneCommand(t *testing.T) {
	dir := t.TempDir()
	w, _ := served(t, dir)
	w.cell = "x"
	c := dialed(t, dir)
	steps := func(n int) control.Command {
		return control.Command{Verb: control.SetLimit, Instance: "a", Limit: control.Limit{"steps": float64(n)}}
	}
	for i, pair := range []struct {
		first, second control.Command
		same          bool
	}{
		{control.Command{Verb: control.Cancel, Instance: "a"}, control.Command{Verb: control.Cancel, Instance: "b"}, false},
		{control.Command{Verb: control.Cancel, Instance: "a"}, control.Command{Verb: control.Cancel, Instance: "y/a"}, false},
		{control.Command{Verb: control.Cancel, Instance: "a"}, control.Command{Verb: control.Cancel, Instance: "a"}, true},
		{control.Command{Verb: control.Cancel, Instance: "a"}, control.Command{Verb: control.Cancel, Instance: "x/a"}, true},
		{control.Command{Verb: control.Say, Instance: "a", Text: "yes <&>"}, control.Command{Verb: control.Say, Instance: "a", Text: "no"}, false},
		{control.Command{Verb: control.Say, Instance: "a", Text: "yes <&>"}, control.Command{Verb: control.Say, Instance: "a", Text: "yes <&>", Program: "p"}, true},
		{control.Command{Verb: control.SetWidth, Width: 8}, control.Command{Verb: control.SetWidth, Width: 4}, false},
		{control.Command{Verb: control.SetBudget, Budget: 8}, control.Command{Verb: control.SetBudget, Budget: 4}, false},
		{control.Command{Verb: control.SetBudget, Budget: 5, Add: true}, control.Command{Verb: control.SetBudget, Budget: 5, Add: true}, true},
		{control.Command{Verb: control.SetBudget, Budget: 5, Add: true}, control.Command{Verb: control.SetBudget, Budget: 5}, false},
		{steps(3), steps(4), false},
		{steps(3), steps(3), true},
		{steps(3), control.Command{Verb: control.SetLimit, Limit: steps(3).Limit}, false},
	} {
		pair.first.ID = fmt.Sprint("n", i)
		pair.second.ID = pair.first.ID
		if _, err := c.Do(t.Context(), pair.first); err != nil {
			t.Fatal(err)
		}
		reply, err := c.Do(t.Context(), pair.second)
		if pair.same && (err != nil || !reply.Repeated) || !pair.same && (fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "belongs to another")) {
			t.Errorf("%+v after %+v: %+v, error %v", pair.second, pair.first, reply, err)
		}
	}
}

// A process knows the commands of an earlier one again by all that they say.
func TestACommandOfAnEarlierProcessIsKnown(t *testing.T) {
	dir := t.TempDir()
	cmds := []control.Command{
		{ID: "say", Verb: control.Say, Instance: "x/a", Text: "a <b> & \"c\"\n\u2028é\x00"},
		{ID: "limit", Verb: control.SetLimit, Limit: control.Limit{"steps": 0, "cost": 0.1, "seconds": 1e9 / 3}},
		{ID: "budget", Verb: control.SetBudget, Budget: 0.1 + 0.2},
	}
	for _, cmd := range cmds {
		logged(t, dir, cmd)
	}
	served(t, dir)
	for _, cmd := range cmds {
		if r, err := dialed(t, dir).Do(t.Context(), cmd); err != nil || !r.Repeated {
			t.Errorf("%+v: %+v, error %v", cmd, r, err)
		}
	}
}

// A client may write what it leaves out as null, or as an empty object.
func TestALimitThatIsNullStaysAsItIs(t *testing.T) {
	for text, want := range map[string]control.Limit{
		`{"limit":{"steps":null,"cost":2}}`: {"cost": 2}, `{"limit":{"steps":null}}`: nil, `{"limit":{}}`: nil, `{"limit":null}`: nil, `{}`: nil,
		`{"limit":{"steps":0}}`: {"steps": 0},
	} {
		var c control.Command
		if err := json.Unmarshal([]byte(text), &c); err != nil || !reflect.DeepEqual(c.Limit, want) {
			t.Errorf("%s: %v, %v; want %v", text, c.Limit, err, want)
		}
	}
}

func TestCommandsAreRefused(t *testing.T) {
	dir := t.TempDir()
	w, _ := served(t, dir)
	c := dialed(t, dir)
	for name, cmd := range map[string]control.Command{
		"unknown verb":  {Verb: "wdth"},
		"no instance":   {Verb: control.Cancel},
		"no width":      {Verb: control.SetWidth},
		"no text":       {Verb: control.Say, Instance: "a"},
		"long text":     {Verb: control.Say, Instance: "a", Text: strings.Repeat("x", control.MaxText+1)},
		"huge":          {Verb: control.Say, Instance: "a", Text: strings.Repeat("\x01", 1<<20)},
		"no limit":      {Verb: control.SetLimit},
		"bad limit":     {Verb: control.SetLimit, Limit: control.Limit{"steps": -1}},
		"half a step":   {Verb: control.SetLimit, Limit: control.Limit{"steps": 0.5}},
		"other limit":   {Verb: control.SetLimit, Limit: control.Limit{"step": 1}},
		"long time":     {Verb: control.SetLimit, Limit: control.Limit{"seconds": 1e10}},
		"bad budget":    {Verb: control.SetBudget, Budget: -2},
		"bad id":        {ID: "a b", Verb: control.Pause},
		"of the work":   {Verb: control.Cancel, Instance: "unknown"},
		"long instance": {Verb: control.Cancel, Instance: strings.Repeat("x", 2000)},
	} {
		if _, err := c.Do(t.Context(), cmd); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v, want a usage fault", name, err)
		}
	}
	if len(w.applied) != 0 {
		t.Errorf("applied %+v", w.applied)
	}
	_, err := c.Do(t.Context(), control.Command{Verb: "wdth"})
	if !strings.Contains(fault.HintOf(err), "did you mean width?") {
		t.Errorf("hint %q", fault.HintOf(err))
	}
}

func TestContentIsShownOnlyIfAskedFor(t *testing.T) {
	dir := t.TempDir()
	served(t, dir)
	c := dialed(t, dir)
	if _, err := c.Do(t.Context(), control.Command{Verb: control.Say, Instance: "a", Text: "words"}); err != nil {
		t.Fatal(err)
	}
	for _, content := range []bool{false, true} {
		s, err := c.Status(t.Context(), content)
		if err != nil || s.PID != os.Getpid() || s.Dir != dir || len(s.Recent) != 1 {
			t.Fatalf("status %+v, error %v", s, err)
		}
		if shown := s.Workers[0].Doing != "" || s.Recent[0].Text != ""; shown != content || s.Content != content {
			t.Errorf("content %v: %+v", content, s)
		}
	}
}

func TestAFailedCommandIsOnRecord(t *testing.T) {
	dir := t.TempDir()
	w, _ := served(t, dir)
	w.fails = fault.Newf(fault.Host, "the disk is full")
	for range 2 { // also if it is sent again
		_, err := dialed(t, dir).Do(t.Context(), control.Command{ID: "1", Verb: control.Requeue, Instance: "a"})
		if fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), "disk is full") {
			t.Errorf("error %v", err)
		}
	}
	h, err := control.Read(dir)
	if err != nil || len(h.InForce().Requeued) != 1 {
		t.Errorf("in force %+v, error %v", h.InForce(), err)
	}
}

func TestTheSocketIsPrivateAndGoesAway(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	dir := t.TempDir()
	path := filepath.Join(dir, control.SocketName)
	stale, err := net.Listen("unix", path) // of a killed process
	if err != nil {
		t.Fatal(err)
	}
	stale.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = stale.Close() // as a kill does
	if _, err := control.Dial(dir, filepath.Dir(dir)); !errors.Is(err, control.ErrNotRunning) {
		t.Errorf("stale socket: %v", err)
	}
	t.Run("served", func(t *testing.T) {
		served(t, dir)
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("socket %v, error %v", info, err)
		}
		if _, err := dialed(t, dir).Status(t.Context(), false); err != nil {
			t.Error(err)
		}
		cell := mkdir(t, filepath.Join(dir, "cell"))
		if c := dialed(t, cell); c.Dir() != filepath.Join(dir) {
			t.Errorf("the client of a cell is for %s", c.Dir())
		}
		if _, err := control.Dial(cell, ""); !errors.Is(err, control.ErrNotRunning) {
			t.Errorf("a run in the folder of another one: %v", err)
		}
	})
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after the end: %v", err)
	}
}

func mkdir(t *testing.T, dir string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestAFileInTheSocketsPlaceIsKept(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, control.SocketName)
	if err := os.WriteFile(path, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	file, err := control.OpenLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := control.Serve(dir, &work{}, file, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("no error")
	}
	if text, _ := os.ReadFile(path); string(text) != "mine" {
		t.Errorf("the file has %q", text)
	}
}

func TestALongPathWorks(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the system refuses long paths of sockets")
	}
	dir := mkdir(t, filepath.Join(t.TempDir(), strings.Repeat("x", 120), strings.Repeat("y", 200)))
	served(t, dir)
	if _, err := dialed(t, dir).Status(t.Context(), false); err != nil {
		t.Error(err)
	}
}

func TestWaitEndsWithTheWork(t *testing.T) {
	dir := t.TempDir()
	file, err := control.OpenLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := control.Serve(dir, &work{}, file, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	waited := make(chan error, 1)
	c := dialed(t, dir)
	go func() { waited <- c.Wait(t.Context()) }()
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := c.Wait(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while it works: %v", err)
	}
	select {
	case err := <-waited:
		t.Errorf("it did not wait: %v", err)
	default:
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-waited; err != nil {
		t.Error(err)
	}
}

// Many connections that send nothing, or read nothing, do not keep the server from closing, and
// most of them are closed at once.
func TestHostileClients(t *testing.T) {
	dir := t.TempDir()
	before := runtime.NumGoroutine()
	t.Run("served", func(t *testing.T) {
		served(t, dir)
		var conns []net.Conn
		for i := range 600 {
			conn, err := net.Dial("unix", filepath.Join(dir, control.SocketName))
			for errors.Is(err, syscall.EAGAIN) { // the server has not accepted the others yet
				runtime.Gosched()
				conn, err = net.Dial("unix", filepath.Join(dir, control.SocketName))
			}
			if err != nil {
				t.Fatal(i, err)
			}
			conns = append(conns, conn)
		}
		closed := 0
		for _, conn := range conns[300:] {
			_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
			if _, err := conn.Read(make([]byte, 1)); errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
				closed++
			}
		}
		if closed != 300 {
			t.Errorf("%d of 300 connections too many are closed", closed)
		}
		for _, conn := range conns {
			_ = conn.Close()
		}
		endless(t, dir)
	})
	for tries := 0; runtime.NumGoroutine() > before; tries++ {
		if tries > 500 {
			t.Fatalf("%d goroutines, before %d", runtime.NumGoroutine(), before)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// endless sends a body without end. The server stops reading it soon.
func endless(t *testing.T, dir string) {
	t.Helper()
	conn, err := net.Dial("unix", filepath.Join(dir, control.SocketName))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetWriteDeadline(time.Now().Add(20 * time.Second))
	fmt.Fprint(conn, "POST /do HTTP/1.1\r\nHost: control\r\nContent-Length: 1000000000\r\n\r\n{\"text\":\"")
	sent := 0
	for sent < 1_000_000_000 {
		n, err := conn.Write([]byte(strings.Repeat("x", 64<<10)))
		if sent += n; err != nil {
			break
		}
	}
	if sent > 32<<20 {
		t.Errorf("the server took %d bytes", sent)
	}
}

// others starts tests of this program as other users.
type others struct {
	dir     string // that all may write
	program string
}

func needOthers(t *testing.T) others {
	t.Helper()
	if os.Getuid() != 0 || runtime.GOOS != "linux" {
		t.Skip("needs root, to become another user")
	}
	dir, err := os.MkdirTemp("/tmp", "control")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	copied, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	o := others{dir, filepath.Join(dir, "program")}
	if err := errors.Join(os.WriteFile(o.program, copied, 0o755), os.Chmod(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	return o
}

// command runs a test as a user, with dir.
func (o others) command(t *testing.T, uid uint32, test, dir string) *exec.Cmd {
	c := exec.CommandContext(t.Context(), o.program, "-test.run=^"+test+"$", "-test.v")
	c.Env, c.Dir = append(os.Environ(), "CONTROL_TEST_DIR="+dir), "/"
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	return c
}

// client returns what a client of a user prints.
func (o others) client(t *testing.T, uid uint32, dir string) string {
	out, _ := o.command(t, uid, "TestClientOfAnotherUser", dir).CombinedOutput()
	return string(out)
}

// TestOtherUsersAreRefused connects as another user, with a socket that lets everyone connect.
func TestOtherUsersAreRefused(t *testing.T) {
	o := needOthers(t)
	w, log := served(t, o.dir)
	if out := o.client(t, 12345, o.dir); !strings.Contains(out, "permission denied") {
		t.Errorf("mode 0600: %s", out)
	}
	if err := os.Chmod(filepath.Join(o.dir, control.SocketName), 0o666); err != nil {
		t.Fatal(err)
	}
	if out := o.client(t, 12345, o.dir); !strings.Contains(out, "not served") {
		t.Errorf("mode 0666: %s", out)
	}
	if len(w.applied) > 0 || !strings.Contains(log.String(), "uid=12345") {
		t.Errorf("applied %v, log %s", w.applied, log)
	}
}

// TestTheServerOfAnotherUserIsRefused has a socket of another user in the folder above.
func TestTheServerOfAnotherUserIsRefused(t *testing.T) {
	o := needOthers(t)
	cell := mkdir(t, filepath.Join(o.dir, "cell"))
	server := o.command(t, 12345, "TestServerOfAnotherUser", o.dir)
	stdin, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(stdout); lines.Scan() && lines.Text() != "listening"; {
		t.Log(lines.Text())
	}
	for _, dir := range []string{o.dir, cell} {
		if out := o.client(t, 23456, dir); !strings.Contains(out, "belongs to user 12345") {
			t.Errorf("%s: %s", dir, out)
		}
		if out := o.client(t, 12345, dir); !strings.Contains(out, "not served") { // it gets no answer
			t.Errorf("%s, the same user: %s", dir, out)
		}
		if _, err := control.Dial(dir, filepath.Dir(dir)); err != nil {
			t.Errorf("%s, root: %v", dir, err)
		}
	}
	_ = stdin.Close()
	_ = server.Wait()
}

// TestServerOfAnotherUser is the other process of TestTheServerOfAnotherUserIsRefused. It takes
// everything that is sent to it.
func TestServerOfAnotherUser(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(otherDir(t), control.SocketName))
	if err == nil {
		err = os.Chmod(l.Addr().String(), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			_, _ = conn.Read(make([]byte, 1))
			_ = conn.Close()
		}
	}()
	fmt.Println("listening")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// otherDir returns the directory of a test that runs as another user.
func otherDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("CONTROL_TEST_DIR")
	if dir == "" {
		t.Skip("runs as another user in another test")
	}
	return dir
}

// TestClientOfAnotherUser is a process that [others.client] starts.
func TestClientOfAnotherUser(t *testing.T) {
	c, err := control.Dial(otherDir(t), filepath.Dir(otherDir(t)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = c.Do(t.Context(), control.Command{Verb: control.Stop}); err != nil {
		t.Fatalf("not served: %v", err)
	}
}
