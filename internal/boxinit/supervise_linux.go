package main

import (
	"encoding/binary"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"batch.example/batch/internal/boxinit/wire"
)

// superviseWord is the argument that makes this program a supervisor. Its interpreters
// inherit its stdin.
const superviseWord = "supervise"

const (
	orderFd  = 3  // where a supervisor takes orders and reports
	scriptFd = 19 // of an interpreter; high, so that start files do not use it
)

// What a supervisor reports, each with a number.
const (
	reportStarting = 'b' // 0; the interpreter may run from now on
	reportStarted  = 's' // process id of the interpreter
	reportFailed   = 'f' // errno
	reportEnded    = 'e' // wait status
	reportIdle     = 'i' // 0; no process of the order is left
)

const reportSize = 5

// oomScore makes the kernel kill commands before process 1 when memory runs out.
const oomScore = "300"

// supervise runs one interpreter after the other. It starts the next one when
// the last one and all its descendants have ended.
func supervise(args []string) {
	runtime.LockOSThread() // children inherit properties of the thread that starts them
	setSlice(0, 0)         // for the commands
	inherited := ownFiles(args)
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte(oomScore), 0)
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	keepLimits()
	signal.Notify(make(chan os.Signal, 1))
	setActions(defaultAction, unhandled...) // commands would inherit that process 1 ignores them
	for born := conditions(); ; {
		order, files, err := readOrder()
		if err != nil {
			os.Exit(0)
		}
		if len(files) == 0 {
			files, inherited = inherited, nil
		}
		pid, held, err := startInterpreter(order, files)
		if err != nil {
			number, _ := err.(syscall.Errno) //nolint:errorlint // that is what syscalls return
			report(reportFailed, uint32(number))
		} else {
			report(reportStarted, uint32(pid))
			if held && !letRun(pid) {
				pid = 0
			}
			waitForAll(pid)
		}
		if conditions() != born || size(order) > largeOutput {
			os.Exit(0) // a new supervisor has the initial properties and uses less memory
		}
		report(reportIdle, 0)
	}
}

// ownFiles makes sure that children do not inherit the supervisor's files. It returns the
// files for the first order; their number is in args.
func ownFiles(args []string) (files []int) {
	unix.CloseOnExec(orderFd)
	n, _ := strconv.Atoi(strings.Join(args, ""))
	for i := range n {
		files = append(files, orderFd+1+i)
		unix.CloseOnExec(files[i])
	}
	return files
}

// waitForAll waits until the interpreter and all its descendants have ended.
func waitForAll(pid int) {
	for {
		c, err := change(unix.P_ALL, 0, unix.WEXITED)
		switch {
		case err == unix.ECHILD: //nolint:errorlint // that is what syscalls return
			return
		case err != nil:
			continue
		case c.pid == pid:
			report(reportEnded, uint32(c.status))
			pid = 0
		}
		_, _ = syscall.Wait4(c.pid, nil, 0, nil)
	}
}

// readOrder waits for an order and for its files, if they are sent: see [pipes].
func readOrder() (order wire.Order, files []int, err error) {
	var head [orderHead]byte
	oob := make([]byte, syscall.CmsgSpace(3*4))
	n, oobn, _, _, err := syscall.Recvmsg(orderFd, head[:], oob, syscall.MSG_CMSG_CLOEXEC)
	for err == syscall.EINTR { //nolint:errorlint // that is what syscalls return
		n, oobn, _, _, err = syscall.Recvmsg(orderFd, head[:], oob, syscall.MSG_CMSG_CLOEXEC)
	}
	if err != nil || n != len(head) {
		return order, nil, io.ErrUnexpectedEOF
	}
	controls, err := syscall.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		return order, nil, err
	}
	for i := range controls {
		if files, err = syscall.ParseUnixRights(&controls[i]); err != nil {
			return order, nil, err
		}
	}
	data := make([]byte, binary.BigEndian.Uint32(head[:]))
	for at := 0; at < len(data); {
		n, err := syscall.Read(orderFd, data[at:])
		if err == syscall.EINTR { //nolint:errorlint // that is what syscalls return
			continue
		}
		if err != nil || n == 0 {
			return order, files, io.ErrUnexpectedEOF
		}
		at += n
	}
	return order, files, wire.Decode(data, &order)
}

// childChange is how a child has ended, or the signal that stopped it.
type childChange struct {
	pid     int
	status  syscall.WaitStatus // valid unless stopped is not 0
	stopped syscall.Signal
}

// change waits for a change of a child and leaves it as it is: a child that has ended is
// not reaped. This process may be killed at any time, even inside a system call that reaps
// the child, and process 1 can reap and report only what was not reaped here. So an end
// is first reported and then reaped.
func change(kind, id, changes int) (c childChange, err error) {
	var info unix.Siginfo
	if err := unix.Waitid(kind, id, &info, changes|unix.WNOWAIT, nil); err != nil {
		return c, err
	}
	// The kernel's siginfo_t for a child, as amd64 and arm64 have it.
	child := (*struct {
		signo, errno, code, _ int32
		pid                   int32
		uid                   uint32
		status                int32
	})(unsafe.Pointer(&info))
	const exited, trapped, stopped = 1, 4, 5 // CLD_EXITED, CLD_TRAPPED, CLD_STOPPED
	c.pid = int(child.pid)
	switch child.code {
	case exited:
		c.status = syscall.WaitStatus(child.status << 8)
	case trapped, stopped:
		c.stopped = syscall.Signal(child.status)
	default: // killed by the signal
		c.status = syscall.WaitStatus(child.status)
	}
	return c, nil
}

// startInterpreter starts the ordered interpreter and closes the files, which belong to the
// command. If the kernel allows it, the interpreter is held until [letRun]: otherwise it
// might kill this process before its id is reported, and then its exit status is lost.
func startInterpreter(order wire.Order, files []int) (pid int, held bool, err error) {
	defer func() {
		for _, fd := range files {
			_ = syscall.Close(fd)
		}
		_ = syscall.Chdir("/")
	}()
	if err := syscall.Chdir(order.Dir); err != nil {
		return 0, false, err
	}
	path, err := lookPath(order.Args[0], pathOf(order.Env))
	if err != nil {
		return 0, false, err
	}
	if len(files) == 0 {
		return 0, false, syscall.EBADF
	}
	out := uintptr(files[0])
	given := []uintptr{0, out, out}
	switch len(files) {
	case 2: // with a script
		for len(given) < scriptFd {
			given = append(given, ^uintptr(0)) // none
		}
		given = append(given, uintptr(files[1]))
	case 3: // streams
		given[0], given[2] = uintptr(files[1]), uintptr(files[2])
	}
	report(reportStarting, 0)
	attr := syscall.ProcAttr{Env: order.Env, Files: given, Sys: &syscall.SysProcAttr{Setsid: true, Ptrace: true}}
	pid, err = syscall.ForkExec(path, order.Args, &attr)
	switch err {
	case syscall.EPERM, syscall.EACCES, syscall.ENOSYS, syscall.EIO: // perhaps tracing was refused
		attr.Sys.Ptrace = false
		pid, err = syscall.ForkExec(path, order.Args, &attr)
		return pid, false, err
	}
	return pid, err == nil, err
}

// letRun releases a held interpreter: it waits for the trap at the end of the exec
// and delivers the signals that arrived before. If the interpreter
// was killed, letRun reports its end and returns false.
func letRun(pid int) bool {
	var before []syscall.Signal
	for {
		c, err := change(unix.P_PID, pid, unix.WEXITED|unix.WSTOPPED)
		switch {
		case err == syscall.EINTR: //nolint:errorlint // that is what syscalls return
		case err != nil:
			return true
		case c.stopped == 0:
			report(reportEnded, uint32(c.status))
			_, _ = syscall.Wait4(pid, nil, 0, nil)
			return false
		case c.stopped == syscall.SIGTRAP:
			// Otherwise the kernel would deliver the trap if this process were killed before the detach.
			_ = unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED|unix.WNOHANG, nil)
			_ = syscall.PtraceDetach(pid)
			for _, s := range before {
				_ = syscall.Kill(pid, s)
			}
			return true
		default:
			before = append(before, c.stopped)
			_ = syscall.PtraceCont(pid, 0)
		}
	}
}

// pathOf returns the value of PATH.
func pathOf(env []string) (path string) {
	for _, v := range env {
		if name, value, _ := strings.Cut(v, "="); name == "PATH" {
			path = value
		}
	}
	return path
}

func report(what byte, number uint32) {
	b := binary.BigEndian.AppendUint32([]byte{what}, number)
	_, _ = syscall.Write(orderFd, b)
}

// lookPath finds the program in the same way as an exec of the engine.
func lookPath(name, path string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	result := syscall.ENOENT
	for len(path) > 0 {
		dir := path
		end := 0
		for end < len(path) && path[end] != ':' {
			end++
		}
		dir, path = path[:end], path[min(end+1, len(path)):]
		if dir == "" {
			dir = "."
		}
		file := dir + "/" + name
		var st syscall.Stat_t
		if syscall.Stat(file, &st) != nil || st.Mode&syscall.S_IFMT == syscall.S_IFDIR {
			continue
		}
		if syscall.Access(file, unix.X_OK) == nil {
			return file, nil
		}
		result = syscall.EACCES
	}
	return "", result
}
