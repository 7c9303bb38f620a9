# The lab that is made when nothing is set. AWS is mocked: make check needs no account.
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

run "two_zones" {
  command = apply

  assert {
    condition     = length(local.host_list) == 16 && output.takes == "18 vCPUs on demand, 0 vCPUs Spot; about 0.79 USD per hour on demand (README.md: What it costs)"
    error_message = "seoul-2az has 16 hosts of a vCPU, and a driver of two: ${output.takes}"
  }

  assert {
    condition     = alltrue([for host in local.host_list : aws_instance.lab[host.name].instance_type == "c7g.medium" && aws_instance.lab[host.name].subnet_id == aws_subnet.lab[host.zone].id])
    error_message = "hosts are in the subnets of their zones, on a type without burst credits"
  }

  assert {
    condition     = { for name, subnet in aws_subnet.lab : name => "${subnet.availability_zone} ${subnet.cidr_block}" } == { control = "ap-northeast-2a 10.75.0.0/24", a = "ap-northeast-2a 10.75.1.0/24", c = "ap-northeast-2c 10.75.2.0/24" }
    error_message = "each zone has a subnet, and so has the driver"
  }

  assert {
    condition     = [for host in yamldecode(aws_s3_object.lab["topology.yaml"].content).hosts : host.nodes] == [for host in local.builtin.hosts : host.nodes if !contains(keys(local.without), host.nodes[0].role)]
    error_message = "the topology has the hosts of the built-in one, in its order"
  }
}

run "instances_are_shut" {
  assert {
    condition = alltrue([for instance in aws_instance.lab :
      instance.metadata_options[0].http_tokens == "required" && instance.metadata_options[0].http_put_response_hop_limit == 1 &&
      instance.root_block_device[0].encrypted && !instance.associate_public_ip_address && length(instance.credit_specification) == 0 &&
    instance.instance_initiated_shutdown_behavior == "terminate"])
    error_message = "IMDSv2 from the instance alone, encrypted volumes, no public address, no burst credits, ended by their own shutdown"
  }

  assert {
    condition     = alltrue([for flow in local.flows : flow.to != "driver" && (flow.from == "driver" || flow.low > local.agent_port || flow.high < local.agent_port)])
    error_message = "nothing comes into the driver, and agents hear the driver alone"
  }

  assert {
    condition     = strcontains(local.files.common["/etc/sysctl.d/60-locklab.conf"], "ip_local_port_range = ${local.node_ports.high + 1} ")
    error_message = "the groups let through what is below the ephemeral ports of the instances"
  }
}

run "rights_of_roles" {
  assert {
    condition = alltrue(flatten([for policy in concat(values(aws_iam_role_policy.lab), values(aws_iam_role_policy.stop)) : [
      for statement in jsondecode(policy.policy).Statement : [for action in statement.Action : !strcontains(action, "*") && (!contains(statement.Resource, "*") || can(statement.Condition) || try(statement.Sid, "") == "SessionManager" || startswith(action, "ec2:Describe"))]
    ]]))
    error_message = "each permission is one action, on the lab's own things"
  }

  assert {
    condition     = !strcontains(aws_iam_role_policy.lab["host"].policy, "ec2:") && !strcontains(aws_iam_role_policy.lab["driver"].policy, "fis:")
    error_message = "hosts may do nothing to instances, and the driver breaks nothing without fis_enabled"
  }
}

run "an_end_for_everything" {
  assert {
    condition     = aws_scheduler_schedule.stop.schedule_expression == "at(${formatdate("YYYY-MM-DD'T'hh:mm:ss", timeadd(output.deadline, "15m"))})" && aws_ssm_parameter.deadline.value == output.deadline
    error_message = "instances end at the deadline, and what is left a quarter of an hour later"
  }

  assert {
    condition = [for step in jsondecode(aws_ssm_document.stop.content).mainSteps : "${step.inputs.Api} ${step.maxAttempts} ${step.onFailure} ${try(join(",", flatten([for filter in step.inputs.Filters : filter.Values if filter.Name == "tag:Lab"])), "-")}"] == [
    "DescribeVpcEndpoints 5 Continue locklab", "DeleteVpcEndpoints 5 Continue -", "DescribeInstances 5 Continue locklab", "TerminateInstances 5 Continue -"]
    error_message = "the hard stop ends endpoints and instances with the lab's tag, tries each call again, and goes on after one that failed"
  }
}

# The plan of another day: another clock, another commit, another token, more hours.
run "later_applies_change_no_host" {
  variables {
    commit    = "0123456789abcdef0123456789abcdef01234567"
    token     = "fedcba9876543210fedcba9876543210"
    max_hours = 12
  }

  assert {
    condition     = output.hosts == run.two_zones.hosts && output.driver_id == run.two_zones.driver_id && timecmp(output.deadline, timeadd(run.two_zones.deadline, "8h")) >= 0
    error_message = "neither a commit that changes no code, nor a new token, nor more hours replace an instance"
  }

  assert {
    condition     = !strcontains(nonsensitive(jsonencode([aws_ssm_parameter.token, local.boot])), var.token) && !strcontains(jsonencode(local.boot), output.deadline)
    error_message = "neither the state nor user data has the token, nor user data the deadline"
  }
}

# make extend, which must change nothing else.
run "extended" {
  plan_options {
    replace = [terraform_data.deadline]
    target  = [aws_scheduler_schedule.stop, aws_ssm_parameter.deadline]
  }

  assert {
    condition     = timecmp(output.deadline, run.two_zones.deadline) > 0 && output.hosts == run.two_zones.hosts
    error_message = "extending moves the deadline and replaces no host"
  }
}

run "user_data" {
  assert {
    condition = { for name, data in local.boot : name => regex("PACKAGES=\"(.*)\"\nPROGRAMS=\"(.*)\"", yamldecode(data).write_files[0].content) } == { for name in keys(local.instances) :
    name => startswith(name, "redis") ? ["redis6", "redis-server=redis6-server,valkey-server"] : ["", ""] }
    error_message = "hosts install what their role has a use for"
  }

  assert {
    condition = alltrue([for name, data in local.boot : { for file in slice(yamldecode(data).write_files, 1, length(yamldecode(data).write_files)) : file.path => file.content } ==
    merge(local.files.common, local.files[local.instances[name].kind])])
    error_message = "every file of files/common and of the instance's kind arrives as it is, and no other"
  }

  assert {
    condition = alltrue(flatten([for data in values(local.boot) : [for file in yamldecode(data).write_files : file.owner == "root:root" && file.permissions == (startswith(file.path, "/opt/") ? "0755" : "0644")]])) && alltrue([
    for data in values(local.boot) : startswith(data, "#cloud-config\n") && yamldecode(data).runcmd == [["/opt/locklab/bin/bootstrap"]]])
    error_message = "files belong to root, programs can be executed, and bootstrap runs"
  }
}
