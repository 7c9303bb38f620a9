# What settings change.
mock_provider "aws" {
  source = "./tests/mocks"

  override_data {
    target = data.aws_ec2_instance_type.used["c7g.large"]
    values = { supported_architectures = ["arm64"], default_vcpus = 2, burstable_performance_supported = false }
  }
}

variables {
  token = "0123456789abcdef0123456789abcdef"
}

# Within the 5 vCPUs of a new account. TestBoot runs the lab on tests/small.yaml.
run "small" {
  command = apply

  variables {
    size = "small"
  }

  override_data {
    target = data.aws_servicequotas_service_quota.vcpus["on-demand"]
    values = { value = 5 }
  }

  assert {
    condition     = keys(aws_instance.lab) == ["driver", "host-a", "host-c"] && output.takes == "4 vCPUs on demand, 0 vCPUs Spot; about 0.19 USD per hour on demand (README.md: What it costs)"
    error_message = "one host a zone and the driver: ${output.takes}"
  }

  assert {
    condition     = yamldecode(aws_s3_object.lab["topology.yaml"].content) == yamldecode(replace(file("tests/small.yaml"), "10.75.1.11", "10.75.1.10"))
    error_message = "tests/small.yaml is what is rendered: ${aws_s3_object.lab["topology.yaml"].content}"
  }
}

run "three_zones_with_fault_injection" {
  command = apply

  variables {
    topology    = "seoul-3az"
    size        = "small"
    fis_enabled = true
  }

  assert {
    condition     = keys(aws_subnet.lab) == ["a", "b", "c", "control"] && local.vcpus["on-demand"] == 5
    error_message = "a small lab in three zones takes the whole quota of a new account"
  }

  assert {
    condition     = aws_s3_object.lab["fis.txt"].content == join("", [for words, template in aws_fis_experiment_template.zone : "${words} ${template.id}\n"]) && keys(aws_fis_experiment_template.zone) == ["a partition", "a stop", "b partition", "b stop", "c partition", "c stop"]
    error_message = "fis-start finds a template for each zone to cut off and to stop"
  }

  assert {
    condition = alltrue([for zone, list in aws_ec2_managed_prefix_list.others :
    toset(list.entry[*].cidr) == toset([for other in local.zones : aws_subnet.lab[other].cidr_block if other != zone])])
    error_message = "a zone is cut off from the other zones' hosts, not from itself or from the driver"
  }

  assert {
    condition     = alltrue([for words, template in aws_fis_experiment_template.zone : endswith(words, " ${one(template.action).name}") && one(one(template.action).target).value == one(template.target).name])
    error_message = "fis-start waits for the action of that kind, and it has its target"
  }

  assert {
    condition     = !can(aws_instance.lab["driver"].tags.Zone) && aws_instance.lab["host-c"].tags.Zone == "c"
    error_message = "an experiment that stops zone a leaves the driver alone"
  }

  assert {
    condition     = toset(keys(aws_vpc_endpoint.api)) == toset(["ssm", "ssmmessages", "fis"]) && contains(yamldecode(local.boot["driver"]).write_files[*].path, "/opt/locklab/bin/fis-start") && length(local.user_data["driver"]) < 16384
    error_message = "the driver can call the Fault Injection Service, and its user data fits"
  }
}

run "chosen_hosts" {
  command = apply

  variables {
    servers       = ["raft"]
    host_counts   = { master = { a = 0 }, worker = { a = 1, c = 2 } }
    instance_type = "t4g.small"
    spot          = true
  }

  override_data {
    target = data.aws_ec2_instance_type.used["t4g.small"]
    values = { supported_architectures = ["arm64"], default_vcpus = 2, burstable_performance_supported = true }
  }

  assert {
    condition     = local.host_list[*].name == ["master-c", "worker-a", "worker-c-1", "worker-c-2", "raft-a-1", "raft-a-2", "raft-c"]
    error_message = "hosts for the chosen servers, as many as were asked for; one zone may be without a master"
  }

  assert {
    condition     = strcontains(yamldecode(aws_s3_object.lab["topology.yaml"].content).without.redis, "add it to servers")
    error_message = "the topology says why it lacks a server"
  }

  assert {
    condition = alltrue([for name, instance in aws_instance.lab : name == "driver" ? length(instance.instance_market_options) == 0 : instance.instance_market_options[0].market_type == "spot"]) && (
    local.vcpus == { on-demand = 2, spot = 14 })
    error_message = "the hosts are on Spot, the driver is not: it would take the report with it"
  }

  assert {
    condition     = alltrue([for name, instance in aws_instance.lab : name != "driver" ? one(instance.credit_specification).cpu_credits == "standard" : length(instance.credit_specification) == 0])
    error_message = "burst credits are never bought"
  }
}
