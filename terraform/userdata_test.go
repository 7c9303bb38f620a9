package terraform_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
)

// cloudConfig is the part of cloud-init's schema that the user data uses. Decoding
// is strict: a key that is not here is a mistake, or belongs here after a look at
// cloud-init's schema.
type cloudConfig struct {
	Users []any `yaml:"users"`

	SSHPwauth   *bool `yaml:"ssh_pwauth"`
	DisableRoot *bool `yaml:"disable_root"`

	PackageUpdate  *bool `yaml:"package_update"`
	PackageUpgrade *bool `yaml:"package_upgrade"`

	WriteFiles []struct {
		Path        string `yaml:"path"`
		Owner       string `yaml:"owner"`
		Permissions string `yaml:"permissions"`
		Content     string `yaml:"content"`
	} `yaml:"write_files"`
	Runcmd [][]string `yaml:"runcmd"`
}

// boot is what an instance finds on its disk, by path.
type boot map[string]string

func (b boot) unit(name string) string { return b["/etc/systemd/system/"+name] }

func (b boot) units() []string {
	var names []string
	for path := range b {
		if strings.HasPrefix(path, "/etc/systemd/system/") {
			names = append(names, filepath.Base(path))
		}
	}
	return slices.Sorted(slices.Values(names))
}

// boots reads the user data of every instance, the driver's under "driver".
func boots(t *testing.T, w *world) map[string]boot {
	t.Helper()
	instances := w.all("aws_instance.host")
	instances["driver"] = w.all("aws_instance.driver")[""]
	all := map[string]boot{}
	for name, c := range instances {
		all[name] = readUserData(t, name, c.text(t, "user_data"))
	}
	return all
}

func readUserData(t *testing.T, name, text string) boot {
	t.Helper()
	if len(text) > 16384 {
		t.Errorf("%s: %d bytes of user data; EC2 takes 16384", name, len(text))
	}
	if !strings.HasPrefix(text, "#cloud-config\n") {
		t.Fatalf("%s: cloud-init would not take this for its configuration: %.40q", name, text)
	}
	var config cloudConfig
	if err := yaml.Load([]byte(text), &config, yaml.WithKnownFields()); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	b := boot{}
	for _, f := range config.WriteFiles {
		if b[f.Path] != "" || f.Content == "" || !filepath.IsAbs(f.Path) {
			t.Errorf("%s: %s is written twice, is empty or has no absolute path", name, f.Path)
		}
		program := strings.HasPrefix(f.Path, "/opt/locklab/bin/")
		if want := map[bool]string{true: "0755", false: "0644"}[program]; f.Permissions != want || f.Owner != "root:root" {
			t.Errorf("%s: %s has mode %s of %s, want %s of root:root", name, f.Path, f.Permissions, f.Owner, want)
		}
		b[f.Path] = f.Content
	}
	if diff := cmp.Diff([][]string{{"/opt/locklab/bin/bootstrap"}}, config.Runcmd); diff != "" {
		t.Errorf("%s: %s", name, diff)
	}
	if len(config.Users) != 2 || config.Users[0] != "default" {
		t.Errorf("%s: users are %v, want the default one, so that Session Manager works, and locklab", name, config.Users)
	}
	return b
}

// TestUserData: well formed for every role, and files arrive as they are here.
func TestUserData(t *testing.T) {
	for name, b := range boots(t, plain(t, everything())) {
		for path, content := range b {
			local := "files/" + filepath.Base(path)
			if strings.HasPrefix(path, "/etc/sysctl.d/") {
				local = "files/sysctl.conf"
			}
			if _, err := os.Stat(local); err == nil && content != string(read(t, local)) {
				t.Errorf("%s: %s does not arrive as it is", name, path)
			}
		}
		for _, unit := range []string{"locklab-secrets.service", "locklab-deadline.timer", "locklab-deadline.service"} {
			if b.unit(unit) == "" {
				t.Errorf("%s has no %s", name, unit)
			}
		}
		if agent, run := b.unit("locklab-agent.service") != "", b.unit("locklab-run.service") != ""; agent == (name == "driver") || run != (name == "driver") {
			t.Errorf("%s: has an agent: %v; can run comparisons: %v", name, agent, run)
		}
		if env := b["/etc/locklab/lab.env"]; strings.Contains(env, "PACKAGES=valkey") != strings.HasPrefix(name, "redis") {
			t.Errorf("%s gets the wrong packages:\n%s", name, env)
		}
	}
}

// TestSettingsAreComplete: every variable that a program reads is in lab.env, and
// lab.env can be read by a shell and by systemd alike.
func TestSettingsAreComplete(t *testing.T) {
	for name, b := range boots(t, plain(t, everything())) {
		set := map[string]bool{}
		for line := range strings.Lines(b["/etc/locklab/lab.env"]) {
			match := regexp.MustCompile(`^([A-Z0-9_]+)=[A-Za-z0-9_./-]*\n$`).FindStringSubmatch(line)
			if match == nil {
				t.Fatalf("%s: %q needs quoting", name, line)
			}
			set[match[1]] = true
		}
		for path, content := range b {
			if !strings.HasPrefix(path, "/opt/") {
				continue
			}
			for _, use := range regexp.MustCompile(`\$\{?([A-Z][A-Z0-9_]+)`).FindAllStringSubmatch(content, -1) {
				if !set[use[1]] && use[1] != "INVOCATION_ID" {
					t.Errorf("%s: %s reads %s, which lab.env does not have", name, path, use[1])
				}
			}
		}
	}
}

// TestClock: Amazon's time, and the kernel is told how wrong it may be.
func TestClock(t *testing.T) {
	for name, b := range boots(t, plain(t, nil)) {
		for _, line := range []string{"server 169.254.169.123 prefer iburst minpoll 4 maxpoll 4", "rtcsync"} {
			if !strings.Contains(b["/etc/chrony.conf"], "\n"+line+"\n") {
				t.Errorf("%s: chrony.conf lacks %q", name, line)
			}
		}
		if strings.Count("\n"+b["/etc/chrony.conf"], "\nserver ") != 1 || strings.Contains(b["/etc/chrony.conf"], "pool ") {
			t.Errorf("%s: chrony has other sources, of which none smears as Amazon does", name)
		}
	}
}
