package terraform_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// module is what the .tf files of this directory say.
type module struct {
	variables map[string]*hclsyntax.Block
	locals    map[string]hclsyntax.Expression
	resources map[string]*hclsyntax.Block // by "aws_instance.host" or "data.aws_ssm_parameter.ami"
	outputs   map[string]*hclsyntax.Block
	bodies    map[string]*hclsyntax.Body // by file name
}

func loadModule(t *testing.T) *module {
	t.Helper()
	m := &module{
		variables: map[string]*hclsyntax.Block{}, locals: map[string]hclsyntax.Expression{},
		resources: map[string]*hclsyntax.Block{}, outputs: map[string]*hclsyntax.Block{}, bodies: map[string]*hclsyntax.Body{},
	}
	for _, file := range glob(t, "*.tf") {
		m.bodies[file] = parse(t, file)
		for _, block := range m.bodies[file].Blocks {
			m.add(t, block)
		}
	}
	return m
}

func (m *module) add(t *testing.T, block *hclsyntax.Block) {
	t.Helper()
	into, name := map[string]map[string]*hclsyntax.Block{
		"variable": m.variables, "resource": m.resources, "data": m.resources, "output": m.outputs,
	}[block.Type], strings.Join(block.Labels, ".")
	switch block.Type {
	case "terraform", "provider":
		return
	case "locals":
		for name, attr := range block.Body.Attributes {
			if m.locals[name] != nil {
				t.Errorf("%s: local.%s is defined twice", attr.SrcRange, name)
			}
			m.locals[name] = attr.Expr
		}
		return
	case "data":
		name = "data." + name
	}
	if into == nil {
		t.Fatalf("%s: what is a %s block?", block.Range(), block.Type)
	}
	if into[name] != nil {
		t.Errorf("%s: %s is defined twice", block.Range(), name)
	}
	into[name] = block
}

func parse(t *testing.T, file string) *hclsyntax.Body {
	t.Helper()
	parsed, diags := hclsyntax.ParseConfig(read(t, file), file, hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return parsed.Body.(*hclsyntax.Body)
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		t.Fatalf("no file is called %s: %v", pattern, err)
	}
	return found
}

// world evaluates a module as Terraform would, with values of our own for what only
// AWS knows.
type world struct {
	t      *testing.T
	m      *module
	binary string // stands for build/locklab-ARCH
	addr   func(host string) string
	vars   map[string]cty.Value
	known  map[string]cty.Value // locals and resources so far, by address
	under  map[string]bool      // being evaluated now
	seen   map[string]map[string]bool
}

// evaluate makes a world from a module. Settings replace the variables' defaults.
func (m *module) evaluate(t *testing.T, settings map[string]cty.Value, binary string, addr func(host string) string) *world {
	t.Helper()
	w := &world{
		t: t, m: m, binary: binary, addr: addr,
		vars: map[string]cty.Value{}, known: map[string]cty.Value{}, under: map[string]bool{}, seen: m.attributesSeen(),
	}
	for name, block := range m.variables {
		w.vars[name] = m.variable(t, block, settings[name])
	}
	return w
}

// variable is a variable's value, converted to its type.
func (m *module) variable(t *testing.T, block *hclsyntax.Block, setting cty.Value) cty.Value {
	t.Helper()
	ty, diags := typeexpr.TypeConstraint(block.Body.Attributes["type"].Expr)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	value := setting
	if value == cty.NilVal {
		if value, diags = block.Body.Attributes["default"].Expr.Value(nil); diags.HasErrors() {
			t.Fatal(diags)
		}
	}
	converted, err := convert.Convert(value, ty)
	if err != nil {
		t.Fatalf("variable %s: %v", block.Labels[0], err)
	}
	return converted
}

// attributesSeen collects, for each resource, which attributes anybody asks for.
func (m *module) attributesSeen() map[string]map[string]bool {
	seen := map[string]map[string]bool{}
	note := func(traversal hcl.Traversal, steps hcl.Traversal) {
		address, _ := split(traversal)
		if seen[address] == nil {
			seen[address] = map[string]bool{"id": true, "arn": true, "name": true}
		}
		for _, step := range steps {
			if attr, ok := step.(hcl.TraverseAttr); ok {
				seen[address][attr.Name] = true
				return
			}
		}
	}
	for _, body := range m.bodies {
		walk(body, func(expr hclsyntax.Expression) {
			for _, traversal := range expr.Variables() {
				_, rest := split(traversal)
				note(traversal, rest)
			}
			_ = hclsyntax.VisitAll(expr, func(node hclsyntax.Node) hcl.Diagnostics {
				if relative, ok := node.(*hclsyntax.RelativeTraversalExpr); ok { // aws_instance.host[name].id
					for _, traversal := range relative.Source.Variables() {
						note(traversal, relative.Traversal)
					}
				}
				return nil
			})
		})
	}
	return seen
}

// walk calls do for every attribute's expression below a body.
func walk(body *hclsyntax.Body, do func(hclsyntax.Expression)) {
	for _, attr := range body.Attributes {
		do(attr.Expr)
	}
	for _, block := range body.Blocks {
		walk(block.Body, do)
	}
}

// split finds the address in a traversal: var.x, local.x, each, path,
// aws_instance.host, data.aws_ssm_parameter.ami.
func split(traversal hcl.Traversal) (address string, rest hcl.Traversal) {
	parts, want := []string{traversal.RootName()}, 2
	switch traversal.RootName() {
	case "each", "count", "self":
		want = 1
	case "data":
		want = 3
	}
	for _, step := range traversal[1:] {
		attr, ok := step.(hcl.TraverseAttr)
		if !ok || len(parts) == want {
			break
		}
		parts = append(parts, attr.Name)
	}
	return strings.Join(parts, "."), traversal[len(parts):]
}

// value evaluates an expression; extra has each, or what a dynamic block iterates.
func (w *world) value(expr hclsyntax.Expression, extra map[string]cty.Value) cty.Value {
	w.t.Helper()
	for _, traversal := range expr.Variables() {
		if _, ok := extra[traversal.RootName()]; !ok {
			w.need(traversal)
		}
	}
	value, diags := expr.Value(w.context(extra))
	if diags.HasErrors() {
		w.t.Fatal(diags)
	}
	return value
}

func (w *world) context(extra map[string]cty.Value) *hcl.EvalContext {
	tree := map[string]map[string]cty.Value{
		"var": w.vars, "local": {}, "data": {}, "path": {"module": cty.StringVal(".")},
	}
	data := map[string]map[string]cty.Value{}
	for address, value := range w.known {
		parts := strings.Split(address, ".")
		into := tree
		if parts[0] == "data" {
			into, parts = data, parts[1:]
		}
		if into[parts[0]] == nil {
			into[parts[0]] = map[string]cty.Value{}
		}
		into[parts[0]][parts[1]] = value
	}
	for kind, values := range data {
		tree["data"][kind] = cty.ObjectVal(values)
	}
	ctx := &hcl.EvalContext{Variables: maps.Clone(extra), Functions: w.functions()}
	if ctx.Variables == nil {
		ctx.Variables = map[string]cty.Value{}
	}
	for root, values := range tree {
		ctx.Variables[root] = cty.ObjectVal(values)
	}
	return ctx
}

// need sees that what a traversal leads to is known.
func (w *world) need(traversal hcl.Traversal) {
	w.t.Helper()
	address, _ := split(traversal)
	if _, ok := w.known[address]; ok || strings.HasPrefix(address, "var.") || strings.HasPrefix(address, "path.") {
		return
	}
	if w.under[address] {
		w.t.Fatalf("%s: %s depends on itself", traversal.SourceRange(), address)
	}
	w.under[address] = true
	defer delete(w.under, address)
	if name, ok := strings.CutPrefix(address, "local."); ok && w.m.locals[name] != nil {
		w.known[address] = w.value(w.m.locals[name], nil)
		return
	}
	block := w.m.resources[address]
	if block == nil {
		w.t.Fatalf("%s: there is no %s", traversal.SourceRange(), address)
	}
	w.known[address] = w.resource(address, block)
}

// instance is one of those that for_each or count make.
type instance struct {
	key   string
	extra map[string]cty.Value
}

// instances are those of a resource, and how they are indexed: "" for a single one,
// "for_each" or "count".
func (w *world) instances(block *hclsyntax.Block) (how string, all []instance) {
	w.t.Helper()
	if attr := block.Body.Attributes["for_each"]; attr != nil {
		for it := w.value(attr.Expr, nil).ElementIterator(); it.Next(); {
			key, value := it.Element()
			if value.Type() == cty.String && key.Type() != cty.String {
				key = value
			}
			all = append(all, instance{key.AsString(), map[string]cty.Value{
				"each": cty.ObjectVal(map[string]cty.Value{"key": key, "value": value}),
			}})
		}
		return "for_each", all
	}
	if attr := block.Body.Attributes["count"]; attr != nil {
		count, _ := w.value(attr.Expr, nil).AsBigFloat().Int64()
		for i := range count {
			all = append(all, instance{key: fmt.Sprint(i)})
		}
		return "count", all
	}
	return "", []instance{{}}
}

// resource is what others see of a resource.
func (w *world) resource(address string, block *hclsyntax.Block) cty.Value {
	w.t.Helper()
	how, all := w.instances(block)
	values := map[string]cty.Value{}
	var list []cty.Value
	for _, in := range all {
		attrs := map[string]cty.Value{}
		for name := range w.seen[address] {
			attrs[name] = w.attribute(address, name, in, block)
		}
		values[in.key] = cty.ObjectVal(attrs)
		list = append(list, values[in.key])
	}
	switch how {
	case "for_each":
		return cty.ObjectVal(values)
	case "count":
		return cty.TupleVal(list)
	}
	return values[""]
}

// attribute is a resource's attribute: as it is configured, or as AWS might say.
func (w *world) attribute(address, name string, in instance, block *hclsyntax.Block) cty.Value {
	w.t.Helper()
	if attr := block.Body.Attributes[name]; attr != nil {
		return w.value(attr.Expr, in.extra)
	}
	switch address + "." + name {
	case "aws_instance.host.private_ip":
		return cty.StringVal(w.addr(in.key))
	case "data.aws_partition.current.partition":
		return cty.StringVal("aws")
	case "data.aws_caller_identity.current.account_id":
		return cty.StringVal("123456789012")
	case "data.aws_ec2_instance_type.used.supported_architectures":
		return cty.ListVal([]cty.Value{w.vars["architecture"]})
	case "terraform_data.made.output":
		return w.value(block.Body.Attributes["input"].Expr, nil)
	}
	return cty.StringVal(strings.ReplaceAll(address, ".", "-") + "-" + in.key + "-" + name)
}

// configured is a block with everything in it evaluated.
type configured struct {
	attrs  map[string]cty.Value
	blocks map[string][]configured
}

// text is a string attribute, or one below blocks: text("metadata_options", "http_tokens").
func (c configured) text(t *testing.T, path ...string) string {
	t.Helper()
	value := c.at(t, path...)
	if value.IsNull() || value.Type() != cty.String {
		t.Fatalf("%s is not a text: %#v", strings.Join(path, "."), value)
	}
	return value.AsString()
}

func (c configured) at(t *testing.T, path ...string) cty.Value {
	t.Helper()
	for _, name := range path[:len(path)-1] {
		if len(c.blocks[name]) != 1 {
			t.Fatalf("%d blocks %s, want one", len(c.blocks[name]), name)
		}
		c = c.blocks[name][0]
	}
	value, ok := c.attrs[path[len(path)-1]]
	if !ok {
		t.Fatalf("%s is not set", strings.Join(path, "."))
	}
	return value
}

// all evaluates every instance of a resource.
func (w *world) all(address string) map[string]configured {
	w.t.Helper()
	block := w.m.resources[address]
	if block == nil {
		w.t.Fatalf("there is no %s", address)
	}
	found := map[string]configured{}
	_, instances := w.instances(block)
	for _, in := range instances {
		found[in.key] = w.body(block.Body, in.extra)
	}
	return found
}

func (w *world) body(body *hclsyntax.Body, extra map[string]cty.Value) configured {
	w.t.Helper()
	c := configured{attrs: map[string]cty.Value{}, blocks: map[string][]configured{}}
	for name, attr := range body.Attributes {
		if !slices.Contains([]string{"for_each", "count", "depends_on", "ignore_changes"}, name) {
			c.attrs[name] = w.value(attr.Expr, extra)
		}
	}
	for _, block := range body.Blocks {
		if block.Type != "dynamic" {
			c.blocks[block.Type] = append(c.blocks[block.Type], w.body(block.Body, extra))
			continue
		}
		kind := block.Labels[0]
		for it := w.value(block.Body.Attributes["for_each"].Expr, extra).ElementIterator(); it.Next(); {
			key, value := it.Element()
			inner := maps.Clone(extra)
			if inner == nil {
				inner = map[string]cty.Value{}
			}
			inner[kind] = cty.ObjectVal(map[string]cty.Value{"key": key, "value": value})
			c.blocks[kind] = append(c.blocks[kind], w.body(block.Body.Blocks[0].Body, inner))
		}
	}
	return c
}
