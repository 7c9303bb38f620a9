package diskfault_test

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"locklab/internal/damage"
	"locklab/internal/must"
	"locklab/nodes/diskfault"
	"locklab/workloads/history"
)

// op is something that a program does with its files. What it writes is as many bytes of its own as the op says.
type op struct {
	Do, Name, To string
	File         int // which of those that it has open
	At, Size     int
	Byte         byte
}

const openFiles = 3

// useDisk does what each line of the input says, and answers which of it could be done.
func useDisk() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var ops []op
		if err := json.Unmarshal(lines.Bytes(), &ops); err != nil {
			panic(err)
		}
		var files [openFiles]*os.File
		var done []bool
		for _, o := range ops {
			done = append(done, o.carryOut(&files) == nil)
		}
		for _, f := range files {
			_ = f.Close()
		}
		answer, _ := json.Marshal(done)
		fmt.Println(string(answer))
	}
}

func openFlags(do string) int {
	return map[string]int{
		"open": 0, "create": os.O_CREATE, "truncating": os.O_TRUNC, "append": os.O_APPEND, "synced": unix.O_DSYNC,
	}[do]
}

func (o op) carryOut(files *[openFiles]*os.File) error {
	f := files[o.File]
	text := bytes.Repeat([]byte{o.Byte}, o.Size)
	switch o.Do {
	case "open", "create", "truncating", "append", "synced":
		opened, err := os.OpenFile(o.Name, os.O_RDWR|openFlags(o.Do), 0o600)
		if err == nil {
			_ = f.Close()
			files[o.File] = opened
		}
		return err
	case "rename":
		return unix.Rename(o.Name, o.To)
	case "link":
		return os.Link(o.Name, o.To)
	case "unlink":
		return unix.Unlink(o.Name)
	case "mkdir":
		return os.Mkdir(o.Name, 0o700)
	case "rmdir":
		return unix.Rmdir(o.Name)
	case "truncate":
		return os.Truncate(o.Name, int64(o.Size))
	case "fsync-dir":
		dir, err := os.Open(o.Name)
		if err != nil {
			return err
		}
		return errors.Join(dir.Sync(), dir.Close())
	}
	if f == nil {
		return os.ErrInvalid
	}
	fd, from := int(f.Fd()), files[(o.File+1)%openFiles]
	var err error
	switch o.Do {
	case "write":
		_, err = f.Write(text)
	case "writev":
		_, err = unix.Writev(fd, [][]byte{text[:o.Size/2], text[o.Size/2:]})
	case "pwrite":
		_, err = unix.Pwrite(fd, text, int64(o.At))
	case "pwritev":
		_, err = unix.Pwritev(fd, [][]byte{text}, int64(o.At))
	case "seek":
		_, err = f.Seek(int64(o.At), 0)
	case "ftruncate":
		err = f.Truncate(int64(o.Size))
	case "fallocate":
		err = unix.Fallocate(fd, 0, int64(o.At), int64(o.Size)+1)
	case "punch":
		err = unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, int64(o.At), int64(o.Size)+1)
	case "copy":
		if from == nil || same(from, f) { // the kernel copies within a file, unless the parts overlap
			return os.ErrInvalid
		}
		start, to := int64(0), int64(o.At)
		_, err = unix.CopyFileRange(int(from.Fd()), &start, fd, &to, o.Size, 0)
	case "fsync":
		err = f.Sync()
	case "fdatasync":
		err = unix.Fdatasync(fd)
	case "syncfs":
		err = unix.Syncfs(fd)
	case "map":
		var mapped []byte
		if mapped, err = unix.Mmap(fd, 0, 1, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err == nil {
			err = unix.Munmap(mapped)
		}
	}
	return err
}

func same(a, b *os.File) bool {
	x, err1 := a.Stat()
	y, err2 := b.Stat()
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// The model: what a file or directory is, and what the disk has of it.
type modelFile struct {
	now, disk []byte
}

type modelDir struct{ now, disk map[string]any }

func newDir() *modelDir { return &modelDir{map[string]any{}, map[string]any{}} }

type descriptor struct {
	file           *modelFile
	at             int
	append, synced bool
}

type model struct {
	root   *modelDir
	strict bool // else a new file that is synced takes the names of its directory along
	files  [openFiles]*descriptor
}

// find is the directory of a path, and what the path means; nil for nothing.
func (m *model) find(path string) (dir *modelDir, name string, found any) {
	dir, name = m.root, path
	if top, rest, below := strings.Cut(path, "/"); below {
		dir, _ = m.root.now[top].(*modelDir)
		name = rest
	}
	if dir == nil {
		return nil, "", nil
	}
	return dir, name, dir.now[name]
}

// sync has a file on the disk.
func (m *model) sync(f *modelFile) {
	toDisk(f)
	way := m.root.wayTo(f)
	if m.strict {
		return
	}
	for i := range max(len(way)-1, 0) {
		dir := way[i].(*modelDir)
		for name, below := range dir.now {
			if below == way[i+1] && dir.disk[name] != below {
				dir.disk = maps.Clone(dir.now)
			}
		}
	}
}

// wayTo are the directories on the way to something that has a name, and it; none if it has none.
func (d *modelDir) wayTo(what any) []any {
	for _, below := range d.now {
		if below == what {
			return []any{d, what}
		}
		if dir, is := below.(*modelDir); is {
			if way := dir.wayTo(what); way != nil {
				return append([]any{d}, way...)
			}
		}
	}
	return nil
}

func toDisk(what any) {
	switch x := what.(type) {
	case *modelFile:
		x.disk = slices.Clone(x.now)
	case *modelDir:
		x.disk = maps.Clone(x.now)
		for _, below := range x.now {
			toDisk(below)
		}
	}
}

// carryOut says whether an op can be done.
func (m *model) carryOut(o op) bool {
	dir, name, found := m.find(o.Name)
	file, isFile := found.(*modelFile)
	isDir := found != nil && !isFile
	switch o.Do {
	case "open", "create", "truncating", "append", "synced":
		if o.Do == "create" && found == nil && dir != nil {
			file, isFile = &modelFile{}, true
			dir.now[name] = file
		}
		if !isFile {
			return false
		}
		if o.Do == "truncating" {
			file.now = nil
		}
		m.files[o.File] = &descriptor{file, 0, o.Do == "append", o.Do == "synced"}
		return true
	case "rename", "link":
		toDir, toName, there := m.find(o.To)
		if found == nil || toDir == nil || o.Do == "link" && (there != nil || isDir) {
			return false
		}
		if there, is := there.(*modelDir); is != isDir && (toDir.now[toName] != nil) || is && len(there.now) > 0 && there != found {
			return false
		}
		if isDir && strings.HasPrefix(o.To, o.Name+"/") {
			return false
		}
		if toDir.now[toName] == found { // nothing happens
			return true
		}
		if toDir.now[toName] = found; o.Do == "rename" {
			delete(dir.now, name)
		}
		return true
	case "unlink":
		if isFile {
			delete(dir.now, name)
		}
		return isFile
	case "mkdir":
		if found == nil && dir != nil {
			dir.now[name] = newDir()
			return true
		}
		return false
	case "rmdir":
		if !isDir || len(found.(*modelDir).now) > 0 {
			return false
		}
		delete(dir.now, name)
		return true
	case "truncate":
		if isFile {
			file.resize(o.Size)
		}
		return isFile
	case "fsync-dir":
		d := m.root
		if o.Name != "." {
			if d, _ = found.(*modelDir); d == nil {
				if isFile {
					m.sync(file)
				}
				return isFile
			}
		}
		d.disk = maps.Clone(d.now)
		return true
	}
	f := m.files[o.File]
	if f == nil {
		return false
	}
	text := bytes.Repeat([]byte{o.Byte}, o.Size)
	switch o.Do {
	case "write", "writev":
		if f.append && o.Size > 0 {
			f.at = len(f.file.now)
		}
		m.write(f, f.at, text)
		f.at += o.Size
	case "pwrite", "pwritev":
		at := o.At
		if f.append { // Linux appends then, too
			at = len(f.file.now)
		}
		m.write(f, at, text)
	case "seek":
		f.at = o.At
	case "ftruncate":
		f.file.resize(o.Size)
	case "fallocate":
		f.file.resize(max(len(f.file.now), o.At+o.Size+1))
	case "punch":
		for i := o.At; i < min(o.At+o.Size+1, len(f.file.now)); i++ {
			f.file.now[i] = 0
		}
	case "copy":
		from := m.files[(o.File+1)%openFiles]
		if from == nil || from.file == f.file || f.append {
			return false
		}
		m.write(f, o.At, slices.Clone(from.file.now[:min(o.Size, len(from.file.now))]))
	case "fsync", "fdatasync":
		m.sync(f.file)
	case "syncfs":
		toDisk(m.root)
	}
	return true
}

func (f *modelFile) resize(size int) {
	f.now = append(slices.Clone(f.now[:min(size, len(f.now))]), make([]byte, max(size-len(f.now), 0))...)
}

func (m *model) write(to *descriptor, at int, text []byte) {
	f := to.file
	if len(text) > 0 {
		f.resize(max(len(f.now), at+len(text)))
		copy(f.now[at:], text)
	}
	if to.synced {
		m.sync(f)
	}
}

// tree is what is in a directory of the disk of a model, or of this machine.
func (d *modelDir) tree(prefix string, into map[string]string) map[string]string {
	for name, what := range d.disk {
		switch x := what.(type) {
		case *modelFile:
			into[prefix+name] = string(x.disk)
		case *modelDir:
			into[prefix+name] = "directory"
			x.tree(prefix+name+"/", into)
		}
	}
	return into
}

func treeOf(t interface{ Fatal(...any) }, dir string) map[string]string {
	into := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if into[name] = "directory"; d.IsDir() {
			return nil
		}
		text, err := os.ReadFile(path)
		into[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return into
}

// user is a program that uses a disk whose power can be cut.
type user struct {
	disk *diskfault.Disk
	dir  string
	out  *bufio.Reader
	in   interface{ Write([]byte) (int, error) }
}

func startUser(t *testing.T) *user {
	t.Helper()
	must.Do(t, diskfault.Missing())
	self, err := os.Executable()
	must.Do(t, err)
	given, kept, err := diskfault.Sockets()
	must.Do(t, err)
	place := t.TempDir()
	u := &user{dir: filepath.Join(place, "data")}
	must.Do(t, os.Mkdir(u.dir, 0o700))
	u.disk = diskfault.New(u.dir)
	must.Do(t, u.disk.WatchPower(filepath.Join(place, "kept")))
	cmd := exec.Command(self, append([]string{"disk"}, diskfault.Command(3, diskfault.Power, self, []string{"user"})...)...)
	cmd.Dir, cmd.ExtraFiles, cmd.Stderr = u.dir, []*os.File{given}, os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	must.Do(t, errors.Join(err1, err2, cmd.Start(), given.Close()))
	u.in, u.out = in, bufio.NewReader(out)
	served := make(chan error, 1)
	go func() { served <- u.disk.Serve(kept, make(chan struct{})) }()
	t.Cleanup(func() {
		if err := errors.Join(in.Close(), cmd.Wait(), <-served); err != nil {
			t.Error(err)
		}
		u.disk.Close()
	})
	return u
}

// does has the program do it all, cuts the power, and says what is left, and what should be.
func (u *user) does(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, how damage.Power, ops ...op,
) (lost history.Lost, left, want map[string]string) {
	m := &model{root: newDir(), strict: how.Strict}
	line, err := json.Marshal(ops)
	if err == nil {
		_, err = u.in.Write(append(line, '\n'))
	}
	if err != nil {
		t.Fatal(err)
	}
	answer, err := u.out.ReadBytes('\n')
	var done []bool
	if err = cmp.Or(err, json.Unmarshal(answer, &done)); err != nil {
		t.Fatal(err)
	}
	if lost, err = u.disk.CutPower(how); err != nil {
		t.Fatal(err)
	}
	left = treeOf(t, u.dir)
	for name := range left {
		if err := os.RemoveAll(filepath.Join(u.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := u.disk.WatchPower(filepath.Join(filepath.Dir(u.dir), "kept")); err != nil {
		t.Fatal(err)
	}
	for i, o := range ops {
		if can := m.carryOut(o); can != done[i] {
			t.Fatalf("op %d, %+v: done %v, in the model %v", i, o, done[i], can)
		}
	}
	return lost, left, m.root.tree("", map[string]string{})
}

// TestPowerByTheBook: what programs get wrong, and how to do it right.
func TestPowerByTheBook(t *testing.T) {
	u := startUser(t)
	create, write, sync := op{Do: "create", Name: "a"}, op{Do: "write", Size: 3, Byte: 'x'}, op{Do: "fsync"}
	syncDir, more := op{Do: "fsync-dir", Name: "."}, op{Do: "write", Size: 2, Byte: 'y'}
	before := []op{create, write, sync, syncDir}
	usual, torn, strict := damage.Power{}, damage.Power{Torn: true}, damage.Power{Strict: true}
	for name, c := range map[string]struct {
		ops  []op
		how  damage.Power
		lost history.Lost
		left map[string]string
	}{
		"all is synced": {before, usual, history.Lost{}, map[string]string{"a": "xxx"}},
		"append without fsync": {
			append(before, more), usual, history.Lost{Bytes: 2}, map[string]string{"a": "xxx"},
		},
		"append without fsync, torn": {
			append(before, more, op{Do: "write", Size: 6, Byte: 'z'}), torn,
			history.Lost{Bytes: 3},
			map[string]string{"a": "xxxyyzzz"},
		},
		"overwritten, torn": {
			append(before, op{Do: "pwrite", Size: 2, Byte: 'z'}), torn, history.Lost{Bytes: 1}, map[string]string{"a": "zxx"},
		},
		"new file, without a sync of its directory": {
			[]op{create, write, sync}, strict, history.Lost{Names: 1}, map[string]string{},
		},
		"new file that takes its name along, and that of another": {
			append(before, op{Do: "rename", Name: "a", To: "b"}, create, more, sync), usual,
			history.Lost{},
			map[string]string{"a": "yy", "b": "xxx"},
		},
		"new name of a file that was not synced": {
			[]op{create, write, syncDir}, usual, history.Lost{Bytes: 3}, map[string]string{"a": ""},
		},
		"fsync of the wrong descriptor": {
			append(before, op{Do: "create", Name: "b", File: 1}, more, op{Do: "fsync", File: 1}), strict,
			history.Lost{Bytes: 2, Names: 1},
			map[string]string{"a": "xxx"},
		},
		"fsync of another descriptor of the file": {
			append(before, more, op{Do: "open", Name: "a", File: 1}, op{Do: "fsync", File: 1}), usual,
			history.Lost{},
			map[string]string{"a": "xxxyy"},
		},
		"rename over, without a sync of the directory": {
			append(before, op{Do: "create", Name: "b"}, more, sync, op{Do: "rename", Name: "b", To: "a"}), usual,
			history.Lost{Names: 2},
			map[string]string{"a": "xxx", "b": "yy"},
		},
		"rename over, with it": {
			append(before, op{Do: "create", Name: "b"}, more, sync, op{Do: "rename", Name: "b", To: "a"}, syncDir), usual,
			history.Lost{},
			map[string]string{"a": "yy"},
		},
		"rename over, synced too early": {
			append(before, op{Do: "create", Name: "b"}, sync, more, op{Do: "rename", Name: "b", To: "a"}, syncDir), usual,
			history.Lost{Bytes: 2},
			map[string]string{"a": ""},
		},
		"unlink without a sync of the directory": {
			append(before, op{Do: "unlink", Name: "a"}), usual, history.Lost{Names: 1}, map[string]string{"a": "xxx"},
		},
		"truncated without fsync": {
			append(before, op{Do: "truncating", Name: "a"}), usual, history.Lost{Bytes: 3}, map[string]string{"a": "xxx"},
		},
		"written through": {
			append(before, op{Do: "synced", Name: "a"}, more), usual, history.Lost{}, map[string]string{"a": "yyx"},
		},
		"copied through": {
			[]op{create, {Do: "create", Name: "b", File: 1}, {Do: "write", File: 1, Size: 3, Byte: 'z'}, {Do: "synced", Name: "a"}, {Do: "copy", File: 0, Size: 3}},
			usual,
			history.Lost{Bytes: 3},
			map[string]string{"a": "zzz", "b": ""},
		},
		"directory whose own name was not synced": {
			[]op{
				{Do: "mkdir", Name: "d"},
				{Do: "create", Name: "d/a"},
				write, sync,
				{Do: "fsync-dir", Name: "d"},
			}, strict, history.Lost{Names: 1}, map[string]string{},
		},
	} {
		lost, left, want := u.does(t, c.how, c.ops...)
		if !maps.Equal(left, c.left) || lost != c.lost || !c.how.Torn && !maps.Equal(want, c.left) {
			t.Errorf("%s: left %v, and %+v was lost: want %v, and %+v; in the model %v", name, left, lost, c.left, c.lost, want)
		}
	}
	u.does(t, damage.Power{}, create, op{Do: "unlink", Name: "a"}, syncDir)
	if kept, err := os.ReadDir(filepath.Join(filepath.Dir(u.dir), "kept")); err != nil || len(kept) > 0 {
		t.Errorf("kept for nothing: %v %v", kept, err)
	}
}

// TestPowerUnknown: what cannot be followed is said.
func TestPowerUnknown(t *testing.T) {
	u := startUser(t)
	line, err := json.Marshal([]op{{Do: "create", Name: "a"}, {Do: "write", Size: 1}, {Do: "map"}})
	must.Do(t, err)
	_, err = u.in.Write(append(line, '\n'))
	must.Do(t, err)
	answer, err := u.out.ReadString('\n')
	must.Do(t, err)
	if answer != "[true,true,true]\n" {
		t.Error(answer)
	}
	if _, err := u.disk.CutPower(damage.Power{}); err == nil || !strings.Contains(err.Error(), "mapping") {
		t.Errorf("the error %v says nothing of the mapping", err)
	}
	if _, err := diskfault.New(t.TempDir()).CutPower(damage.Power{}); err == nil {
		t.Error("the power was cut of a disk that is not watched")
	}
}

// TestPowerRandomly: whatever a program does with its files, what is left is what the model says.
func TestPowerRandomly(t *testing.T) {
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue && !testing.Short() {
		must.Do(t, checks.Value.Set("10000"))
		defer func() { must.Do(t, checks.Value.Set(checks.DefValue)) }()
	}
	u := startUser(t)
	names := rapid.SampledFrom([]string{"a", "b", "d", "e", "d/a", "d/b", "e/a"})
	ops := rapid.Custom(func(t *rapid.T) op {
		return op{
			Do: rapid.SampledFrom([]string{
				"open", "create", "create", "truncating", "append", "synced", "rename", "link", "unlink", "mkdir", "rmdir",
				"truncate", "fsync-dir", "fsync-dir", "write", "write", "writev", "pwrite", "pwritev", "seek", "ftruncate",
				"fallocate", "punch", "copy", "fsync", "fsync", "fdatasync", "syncfs",
			}).Draw(t, "do"),
			Name: names.Draw(t, "name"), To: names.Draw(t, "to"),
			File: rapid.IntRange(0, openFiles-1).Draw(t, "file"), At: rapid.IntRange(0, 9000).Draw(t, "at"),
			Size: rapid.IntRange(0, 9000).Draw(t, "size"), Byte: rapid.ByteRange(1, 127).Draw(t, "byte"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		how := damage.Power{Strict: rapid.Bool().Draw(t, "strict")}
		todo := rapid.SliceOfN(ops, 1, 40).Draw(t, "ops")
		for i := range todo {
			switch o := &todo[i]; {
			case o.Do == "fsync-dir" && o.At%2 == 0:
				o.Name = "."
			case o.Do == "link" && !how.Strict: // which of its names a file takes along is another matter
				o.Do = "rename"
			}
		}
		_, left, want := u.does(t, how, todo...)
		if !maps.Equal(left, want) {
			t.Fatalf("left %s\nwant %s", short(left), short(want))
		}
	})
}

func short(tree map[string]string) (said []string) {
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		text := []byte(tree[name])
		var runs []string
		for len(text) > 0 {
			n := len(text) - len(bytes.TrimLeft(text, string(text[:1])))
			runs = append(runs, fmt.Sprintf("%dx%02x", n, text[0]))
			text = text[n:]
		}
		said = append(said, name+"="+strings.Join(runs, "+"))
	}
	return said
}
