data "aws_ssm_parameter" "ami" {
  name = "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-${var.architecture}"
}

data "aws_ec2_instance_type" "used" {
  for_each = toset(concat([var.instance_type, var.driver_instance_type], values(var.instance_types)))

  instance_type = each.key
}

locals {
  ami = data.aws_ssm_parameter.ami.insecure_value # not a secret: everybody may read it

  # What boots: one file, so that it can be rendered and tried without AWS.
  host_user_data = { for name, host in local.hosts : name => templatefile("${path.module}/templates/user-data.yaml.tftpl", {
    files = merge(local.common_files, {
      "/etc/locklab/lab.env" = { mode = "0644", content = templatefile("${path.module}/templates/lab.env.tftpl", merge(local.common_settings, {
        name     = name
        packages = host.role == "redis" ? var.redis_package : ""
        units    = "locklab-agent.service"
      })) }
      "/etc/systemd/system/locklab-agent.service" = { mode = "0644", content = templatefile("${path.module}/templates/locklab-agent.service.tftpl", {
        name       = name
        zone       = host.zone
        agent_port = local.agent_port
        echo_port  = local.echo_port
      }) }
    })
  }) }

  # On every instance.
  common_files = merge(
    { for name in ["bootstrap", "lab-secrets"] :
      "/opt/locklab/bin/${name}" => { mode = "0755", content = file("${path.module}/files/${name}") }
    },
    { for name in ["locklab-secrets.service", "locklab-deadline.service", "locklab-deadline.timer"] :
      "/etc/systemd/system/${name}" => { mode = "0644", content = file("${path.module}/files/${name}") }
    },
    {
      "/etc/chrony.conf"              = { mode = "0644", content = file("${path.module}/files/chrony.conf") }
      "/etc/sysctl.d/60-locklab.conf" = { mode = "0644", content = file("${path.module}/files/sysctl.conf") }
    },
  )
  common_settings = {
    region        = var.region
    bucket        = aws_s3_bucket.lab.id
    binary_key    = local.binary_key
    binary_sha256 = local.binary_sha256
    token         = aws_ssm_parameter.token.name
    max_hours     = var.max_hours
  }
}

resource "aws_instance" "host" {
  for_each = local.hosts

  ami                                  = local.ami
  instance_type                        = lookup(var.instance_types, each.value.role, var.instance_type)
  subnet_id                            = aws_subnet.zone[each.value.zone].id
  vpc_security_group_ids               = [aws_security_group.lab["hosts"].id]
  associate_public_ip_address          = false
  iam_instance_profile                 = aws_iam_instance_profile.lab["host"].name
  instance_initiated_shutdown_behavior = "terminate" # so that the instance's own timer ends its costs
  user_data                            = local.host_user_data[each.key]
  user_data_replace_on_change          = true

  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }

  root_block_device {
    encrypted   = true
    volume_type = "gp3"
    volume_size = var.volume_gib
  }

  dynamic "instance_market_options" {
    for_each = var.spot ? ["spot"] : []

    content {
      market_type = instance_market_options.value

      spot_options {
        spot_instance_type             = "one-time"
        instance_interruption_behavior = "terminate"
      }
    }
  }

  tags        = { Name = "${var.name}-${each.key}", Host = each.key, Zone = each.value.zone, Role = each.value.role }
  volume_tags = { Lab = var.name, Name = "${var.name}-${each.key}" }

  lifecycle {
    ignore_changes = [ami] # a new image while a lab stands is no reason to rebuild it

    precondition {
      condition     = length(local.host_user_data[each.key]) <= 16384
      error_message = "The user data of ${each.key} is longer than the 16 KiB that EC2 takes."
    }

    precondition {
      condition     = contains(data.aws_ec2_instance_type.used[lookup(var.instance_types, each.value.role, var.instance_type)].supported_architectures, var.architecture)
      error_message = "The instance type of ${each.key} is not ${var.architecture}: set architecture and instance types that fit."
    }
  }

  # It boots with what these give it.
  depends_on = [
    aws_iam_role_policy.lab, aws_s3_object.binary, aws_vpc_endpoint.api, aws_vpc_endpoint.s3, aws_route_table_association.zone,
    aws_vpc_security_group_egress_rule.flow, aws_vpc_security_group_egress_rule.s3, aws_vpc_security_group_ingress_rule.flow,
  ]
}
