package control

import "golang.org/x/sys/unix"

// peerOf returns the user and the process at the other end of a socket, by the system's word.
func peerOf(fd int) (uid, pid int, err error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, 0, err
	}
	pid, _ = unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID) // 0: not known
	return int(cred.Uid), pid, nil
}
