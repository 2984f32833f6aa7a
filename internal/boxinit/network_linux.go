package main

import (
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// listenLimit is how long a helper may take until it listens.
const listenLimit = 10 * time.Second

// connect connects a socket to the helper that listens, which may have just been started.
func connect(fd int) error {
	for end := time.Now().Add(listenLimit); ; time.Sleep(5 * time.Millisecond) {
		err := unix.Connect(fd, &unix.SockaddrUnix{Name: socketName})
		if !errors.Is(err, unix.ECONNREFUSED) || time.Now().After(end) {
			return err
		}
	}
}

// hold waits until the container is to end.
func hold() {
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
	<-end
}

// unplug takes all network interfaces down except the loopback device.
func unplug() error {
	text, err := os.ReadFile("/proc/net/dev")
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for line := range bytes.Lines(text) {
		name, _, ok := strings.Cut(strings.TrimSpace(string(line)), ":")
		if !ok || name == "lo" {
			continue
		}
		r, err := unix.NewIfreq(name)
		if err == nil {
			err = unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, r)
		}
		if err == nil && r.Uint16()&unix.IFF_UP != 0 {
			r.SetUint16(r.Uint16() &^ unix.IFF_UP)
			err = unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, r)
		}
		if err != nil {
			return errors.New("taking " + name + " down: " + err.Error())
		}
	}
	return nil
}

// probeLimit is how long an address may take to answer.
const probeLimit = 3 * time.Second

// probe prints the addresses that answer. A refused connection is an answer too. An address is the
// hexadecimal digits of its 4 or 16 bytes, a colon and the port.
func probe(addresses string) {
	var all sync.WaitGroup
	for _, text := range strings.Fields(addresses) {
		all.Go(func() {
			if answers(text) {
				_, _ = os.Stdout.WriteString(text + "\n")
			}
		})
	}
	all.Wait()
}

func answers(address string) bool {
	text, after, _ := strings.Cut(address, ":")
	ip, bad := hex.DecodeString(text)
	port, err := strconv.Atoi(after)
	var family int
	var to unix.Sockaddr
	switch {
	case bad != nil || err != nil || len(ip) != 4 && len(ip) != 16:
		return true // what cannot be tried must not count as silent
	case len(ip) == 4:
		family, to = unix.AF_INET, &unix.SockaddrInet4{Port: port, Addr: [4]byte(ip)}
	default:
		family, to = unix.AF_INET6, &unix.SockaddrInet6{Port: port, Addr: [16]byte(ip)}
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	err = unix.Connect(fd, to)
	if errors.Is(err, unix.EINPROGRESS) {
		err = await(fd)
	}
	return err == nil || errors.Is(err, unix.ECONNREFUSED)
}

// await waits until a connection is there or has failed.
func await(fd int) error {
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
	for end := time.Now().Add(probeLimit); ; {
		n, err := unix.Poll(poll, int(max(0, time.Until(end).Milliseconds())))
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return err
		case n == 0:
			return unix.ETIMEDOUT
		}
		code, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
		if err == nil && code != 0 {
			err = syscall.Errno(code)
		}
		return err
	}
}
