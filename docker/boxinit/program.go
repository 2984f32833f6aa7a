package boxinit

import (
	"archive/tar"
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
	"time"

	"github.com/docker/docker/api/types/mount"

	"batch.example/batch/fault"
	"batch.example/batch/internal/boxinit/packed"
)

// program is the helper for one engine.
type program struct {
	volume string
	gz     []byte
}

func (p *program) mount() mount.Mount {
	return mount.Mount{
		Type: mount.TypeVolume, Source: p.volume, Target: Dir, ReadOnly: true,
		VolumeOptions: &mount.VolumeOptions{NoCopy: true, Labels: map[string]string{label: ""}},
	}
}

// programFor returns the helper for the operating system and the architecture of the
// engine's machine, in the engine's words: Docker uses uname's names, Podman Go's. The
// platform of the image does not matter: the machine's kernel runs the helper.
func programFor(system, machine string) (*program, error) {
	arch := map[string]string{"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}[machine]
	gz := packed.For(arch)
	if system != "linux" || gz == nil {
		return nil, fault.Newf(fault.Host, "starting batch's helper: an engine on %s/%s is not supported", system, machine).
			WithHint("use an engine on linux/amd64 or linux/arm64")
	}
	sum := sha256.Sum256(gz)
	return &program{fmt.Sprintf("%s%s-%x", volumePrefix, arch, sum[:6]), gz}, nil
}

// archive returns the helper as a tar file for the engine to unpack: the program under a
// temporary name, then a hard link to it with the final name. So the final name never has
// an incomplete program, and a refill does not write to a file that is running or that
// another process is writing.
func (p *program) archive() (io.Reader, error) {
	data, err := packed.Unpack(p.gz)
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	temporary, made := "."+rand.Text(), time.Unix(0, 0)
	err = w.WriteHeader(&tar.Header{Name: temporary, Mode: 0o755, Size: int64(len(data)), ModTime: made})
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.WriteHeader(&tar.Header{Typeflag: tar.TypeLink, Name: file, Linkname: temporary, Mode: 0o755, ModTime: made})
	}
	if err == nil {
		err = w.Close()
	}
	return &buf, err
}
