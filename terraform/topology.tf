# The hosts, read from the topologies and the roles of the lab itself: what is added
# there is here.
locals {
  lab_roles   = ["master", "worker"] # every run has them; the others are the locks' servers
  builtin     = try(yamldecode(file("${path.module}/../nodes/topology/builtin/${var.topology}.yaml")), { summary = "", zones = [], hosts = [] })
  zones       = [for zone in local.builtin.zones : zone.short]
  zone_names  = { for zone in local.zones : zone => "${var.region}${zone}" }
  all_roles   = distinct(flatten([for host in local.builtin.hosts : host.nodes[*].role]))
  all_servers = [for role in local.all_roles : role if !contains(local.lab_roles, role)]

  # What hosts install to play a role, as the role's own directory says.
  software = { for text in [for name in fileset("${path.module}/../nodes", "*/packages*.yaml") : yamldecode(file("${path.module}/../nodes/${name}"))] :
    text.role => text["amazon-linux-2023"]
  }
  unavailable = { for role in local.all_servers : role => local.software[role].unavailable if can(local.software[role].unavailable) }

  # Why the topology lacks servers, for who names their locks.
  without = { for role in local.all_servers : role => try(local.unavailable[role],
    "this lab was made without it: add it to servers in terraform.tfvars and apply again")
    if !contains(var.servers, role)
  }

  # The topology's hosts, with the servers that were asked for.
  wanted = [for host in local.builtin.hosts : merge(host, {
    nodes = [for node in host.nodes : node if contains(local.lab_roles, node.role) || contains(var.servers, node.role)]
  })]
  chosen = [for host in local.wanted : merge(host, { role = host.nodes[0].role }) if length(host.nodes) > 0]

  # Groups of a role and a zone, in the order of the topology, which is the order that
  # nodes are told in. host_counts replaces a group by as many hosts of one node each.
  host_list = flatten([for role in distinct(local.chosen[*].role) : [
    for zone in local.zones : [
      for group in [[for host in local.chosen : host if host.role == role && host.zone == zone]] :
      length(group) == try(var.host_counts[role][zone], length(group)) ? group : [
        for name in [for i in range(var.host_counts[role][zone]) : var.host_counts[role][zone] == 1 ? "${role}-${zone}" : "${role}-${zone}-${i + 1}"] :
        { name = name, zone = zone, role = role, nodes = [{ name = name, role = role }] }
      ]
    ]
  ]])

  hosts = { for host in local.host_list : host.name => merge(host, {
    type     = lookup(var.instance_types, host.role, var.instance_type)
    software = [for role in distinct(host.nodes[*].role) : local.software[role] if can(local.software[role].packages)]
    packages = distinct(flatten([for role in distinct(host.nodes[*].role) : try(var.packages[role], local.software[role].packages, [])]))
  }) }

  # Where things listen on a host. Nodes get ports below the ephemeral ones, which the
  # sysctl of the instances moves up so that one range remains.
  agent_port = 7500
  echo_port  = 7501
  node_ports = { low = 10000, high = 32767 }

  # What the controller works with: the hosts that were made, at their addresses.
  # Real zones have latency of their own, so the links add none.
  topology_file = templatefile("${path.module}/templates/topology.yaml.tftpl", {
    name    = var.topology
    summary = local.builtin.summary
    zones   = [for zone in local.zones : { name = local.zone_names[zone], short = zone }]
    without = local.without
    hosts = [for host in local.host_list : merge(host, {
      agent = "http://${aws_instance.host[host.name].private_ip}:${local.agent_port}"
    })]
  })
}
