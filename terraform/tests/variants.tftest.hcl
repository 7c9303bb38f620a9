# What settings change.
mock_provider "aws" {
  source = "./tests/mocks"
}

variables {
  token = "0123456789abcdef0123456789abcdef"
}

run "three_zones_with_fault_injection" {
  command = apply

  variables {
    topology    = "seoul-3az"
    fis_enabled = true
    packages    = { redis = ["valkey"] }
  }

  assert {
    condition     = keys(aws_subnet.zone) == ["a", "b", "c"] && length(aws_instance.host) == 14
    error_message = "seoul-3az has 14 hosts in three zones"
  }

  assert {
    condition     = aws_s3_object.fis[0].content == join("", [for template in local.fis_templates : "${template.zone} ${template.kind} ${template.id}\n"]) && length(local.fis_templates) == 6
    error_message = "fis-start finds a template for each zone to cut off and to stop"
  }

  assert {
    condition = alltrue([for zone, list in aws_ec2_managed_prefix_list.others :
    toset(list.entry[*].cidr) == toset([for other in local.zones : aws_subnet.zone[other].cidr_block if other != zone])])
    error_message = "a zone is cut off from the other zones' hosts, not from itself or from the driver"
  }

  assert {
    condition = alltrue(flatten([for kind, templates in { partition = aws_fis_experiment_template.partition, stop = aws_fis_experiment_template.stop } : [
      for template in templates : one(template.action).name == kind && one(one(template.action).target).value == one(template.target).name
    ]]))
    error_message = "fis-start waits for the action of that kind, and it has its target"
  }

  assert {
    condition = anytrue([for statement in jsondecode(aws_iam_role_policy.fis[0].policy).Statement :
    try(statement.Action == ["kms:CreateGrant"] && statement.Condition.Bool["kms:GrantIsForAWSResource"] == "true" && statement.Condition.StringEquals["kms:ViaService"] == "ec2.ap-northeast-2.amazonaws.com", false)])
    error_message = "instances with a customer's default key start again"
  }

  assert {
    condition     = toset(keys(aws_vpc_endpoint.api)) == toset(["ssm", "ssmmessages", "fis"]) && contains(yamldecode(local.driver_boot).write_files[*].path, "/opt/locklab/bin/fis-start")
    error_message = "the driver can call the Fault Injection Service"
  }

  assert {
    condition     = strcontains(local.host_boot["redis-c"], "PACKAGES=\\\"valkey\\\"") && length(local.driver_user_data) < 16384
    error_message = "Valkey in place of Redis; user data fits"
  }
}

run "what_is_chosen" {
  command = apply

  variables {
    servers        = ["raft"]
    host_counts    = { worker = { a = 1, c = 2 } }
    instance_types = { raft = "t4g.small" }
    spot           = true
  }

  override_data {
    target = data.aws_ec2_instance_type.used["t4g.small"]
    values = { supported_architectures = ["arm64"], default_vcpus = 2, burstable_performance_supported = true }
  }

  assert {
    condition     = yamldecode(output.topology).hosts[*].name == ["master-a", "master-c", "worker-a", "worker-c-1", "worker-c-2", "raft-a-1", "raft-a-2", "raft-c"]
    error_message = "hosts for the chosen servers, as many as were asked for"
  }

  assert {
    condition     = strcontains(yamldecode(output.topology).without.redis, "add it to servers")
    error_message = "the topology says why it lacks a server"
  }

  assert {
    condition     = alltrue([for host in aws_instance.host : host.instance_market_options[0].market_type == "spot"]) && local.vcpus == { on-demand = 1, spot = 11 } # one, and 5 + 3 times 2
    error_message = "the hosts are on Spot, the driver is not: it would take the report with it"
  }

  assert {
    condition     = alltrue([for name, host in aws_instance.host : startswith(name, "raft") ? one(host.credit_specification).cpu_credits == "standard" : length(host.credit_specification) == 0])
    error_message = "burst credits are never bought"
  }
}
